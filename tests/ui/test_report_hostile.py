"""Hostile texts in every place of a report: none runs, none is anything but text, none moves what stands beside it."""

import csv
import io
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from report_scenario import GRADERS, answered, head_of, page_of, write_page_of
from scenario import AT, PASSAGE, case, output, row
from ui.dagster_ui import CHROMIUM
from ui.report_page import reader

from spancheck_pipeline.decision.audit import AuditFinding, AuditRecord, AuditScore, AuditVerdict
from spancheck_pipeline.evidence.case import check_id

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is missing (the extra `dev` has it)")
pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(CHROMIUM is None, reason="a Chromium is missing (Debian: apt-get install chromium)"),
]

RUN = "window.pwned=1"
PAYLOADS = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"</SCRIPT ><script>{RUN}</script>",
    f"<!--<script>{RUN}</script>-->",
    f"<!-- --!><script>{RUN}</script>",
    f"]]><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"</template><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<img src=x onerror='{RUN}'//",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<svg><foreignObject><iframe srcdoc='<script>parent.{RUN}</script>'>",
    f"<math><mtext></mtext><mglyph><style><img src onerror={RUN}>",
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src onerror={RUN}>",
    f"<marquee onstart={RUN}>",
    f"<iframe src='javascript:parent.{RUN}'></iframe>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<object data='javascript:{RUN}'></object>",
    f"<embed src='data:text/html,<script>{RUN}</script>'>",
    f"<a href='javascript:{RUN}'>click</a>",
    f"<a href='data:text/html,<script>{RUN}</script>'>click</a>",
    f"<form action='javascript:{RUN}'><button>go</button></form>",
    f"<base href='https://example.invalid/'><script>{RUN}</script>",
    "<meta http-equiv=refresh content='0;url=https://example.invalid/'>",
    "<link rel=stylesheet href=https://example.invalid/x.css>",
    "<style>*{display:none!important}</style>",
    "<div style='position:fixed;inset:0;background:red;z-index:99999'>over everything</div>",
    "<img src=https://example.invalid/pixel.png>",
    "<script src=https://example.invalid/x.js></script>",
    "</p></div></section></main></body></html>",
    "<plaintext>",
    "<xmp>",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'>",
    f'" onmouseover="{RUN}" x="',
    f"' autofocus onfocus='{RUN}' x='",
    f"` onmouseover=`{RUN}`",
    f"javascript:{RUN}",
    "data:text/html;base64,PHNjcmlwdD53aW5kb3cucHduZWQ9MTwvc2NyaXB0Pg==",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#60;script&#62;{RUN}&#60;/script&#62;",
    "\\u003cscript\\u003ewindow.pwned=1\\u003c/script\\u003e",
    "${window.pwned=1}",
    "{{constructor.constructor('window.pwned=1')()}}",
    "{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
    "[click](javascript:window.pwned=1)",
    "![pixel](https://example.invalid/pixel.png)",
    '=HYPERLINK("https://example.invalid","click")',
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+9)*cmd|' /C calc'!A0",
    "\t=1+1",
    "＝1+1",
    "\u202etxt.exe\u202c right to left",
    "\u2066isolate \u2067other \u2068first",
    "a\u200bb\ufeffc\u2060d\u00ade",
    "\x1b[2J\x1b[31mred\x1b[0m\x07",
    "\x00\x01\x08 nulls",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳",
    "W" * 3000,
    "\u0645\u0631\u062d\u0628\u0627 " * 40,
    "👩‍👩‍👧‍👦🏳️‍🌈𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "__proto__",
    "constructor",
    "line\nbreak\r\nand\ttab",
    "'; DROP TABLE cases; --",
    "../../../../etc/passwd",
    "file:///etc/passwd",
]


NUMBERS = ["007", "1E5", "3-4", "12:30", "1,5"]
"""Ids that a spreadsheet would take for a number, a date or a time."""


def id_of(number: int) -> str:
    """Return the payload as a case id where an id may be that, else a number."""
    try:
        return check_id(PAYLOADS[number][:400])
    except ValueError:
        return f"case {number}"


def hostile(number: int) -> AuditRecord:
    """Return a record that has a payload wherever a system, a judge or a file can put text."""
    text = PAYLOADS[number]
    of = case(
        id_of(number),
        text,
        category=text[:200] or "x",
        expected=text,
        history=[{"role": text[:80], "text": text}],
        expected_sources=[id_of(number)],
        criteria=[{"id": "c", "type": "presence", "target": {"text": text}, "comment": text}],
        contexts=[{"source_id": text, "text": text}],
        meta={text: text},
    )
    answer = f"{text} 😀 It is so. {text}"
    value = output(
        answer,
        contexts=[{"source_id": text, "text": f"{PASSAGE} {text}", "title": text, "uri": text}, {"text": text}],
        citations=[{"source_id": text, "quote": text, "claim": text}],
        model=text,
        finish_reason=text,
        versions={text: text},
    )
    finding = AuditFinding(
        item=text,
        kind=text,
        outcome="fail",
        grade=text,
        reason=f"The evidence does not have “{text}”.",
        source_id=text,
        source_start=0,
        source_end=len(PASSAGE),
        answer_start=0,
        answer_end=len(text) + 1,
    )
    scores = tuple(
        AuditScore(
            grader=grader.name,
            grader_version="1",
            spec_digest="0",
            outcome="fail",
            value=0.0,
            reason_code=text[:60],
            reason=text,
            findings=(finding,),
        )
        for grader in GRADERS
    )
    verdict = AuditVerdict(
        judge=text,
        graders=(text,),
        served_model=text,
        prompt=text,
        prompt_digest=text,
        packet_digest=text,
        label=text,
        score=0.5,
        reason=text,
    )
    return AuditRecord(
        case=of,
        question_digest=of.question_digest,
        label_digest=of.label_digest,
        call=row(of, value, latency_ms=1.0, started_at=AT),
        cost_usd=0.0,
        scores=scores,
        verdicts=(verdict,),
    )


def failed(text: str) -> AuditRecord:
    of = case("a failed call")
    return AuditRecord(
        case=of,
        question_digest=of.question_digest,
        label_digest=of.label_digest,
        call=row(of, error_class=text, error_message=text),
        scores=(),
    )


@pytest.fixture(scope="module")
def records():
    return [
        answered("plain", "It is so.", passages=[("lease", PASSAGE)], category="W" * 600),
        *map(hostile, range(len(PAYLOADS))),
        *(answered(case_id, "It is so.", passages=[("lease", PASSAGE)]) for case_id in NUMBERS),
        failed(PAYLOADS[0]),
    ]


@pytest.fixture(scope="module")
def report(records, tmp_path_factory) -> Path:
    head = head_of(records, attributions=[(record.case.id, PAYLOADS[0]) for record in records])
    dressed = head.decision.model_copy(update={"decided_by": PAYLOADS[0], "note": PAYLOADS[10]})
    head = head.model_copy(update={"decision": dressed, "graders": {PAYLOADS[1]: {"x": PAYLOADS[1]}}})
    return write_page_of(tmp_path_factory.mktemp("hostile") / "report.html", records, head=head)


@pytest.fixture(scope="module")
def seen():
    with reader() as seen:
        yield seen
        seen.assert_quiet()


ELEMENTS = """() => {
  const found = {};
  for (const node of document.querySelectorAll('script:not([type]), style, iframe, object, embed, img, video, audio,' +
    'form, base, meta, link, math, plaintext, xmp, template, textarea, marquee, animate, foreignObject, title'))
    found[node.localName] = (found[node.localName] || 0) + 1;
  const leads = value => /^\\s*(javascript|data:text|https?):/i.test(value);
  for (const node of document.querySelectorAll('*')) for (const { name, value } of node.attributes)
    if (name.startsWith('on') || name === 'srcdoc' || (['href', 'src'].includes(name) && leads(value)))
      found['@' + name] = value;
  return found;
}"""
OURS = {"script": 1, "style": 1, "form": 1, "link": 1, "title": 1}


def elements(page) -> dict:
    found = page.evaluate(ELEMENTS)
    found.pop("meta")
    return found


LOOK = """async id => {
  location.hash = new URLSearchParams({ case: id });
  const until = Date.now() + 15000;
  while (document.querySelector('#case:not([hidden]) h2')?.textContent !== id) {
    if (Date.now() > until) throw new Error('the case is not shown');
    await new Promise(go => setTimeout(go, 2));
  }
  const texts = selector => [...document.querySelectorAll(selector)].map(block => block.textContent);
  return {
    answer: texts('#case .answer .text'), passages: texts('#case .passages .text'), said: texts('#case .scores')[0],
    fits: document.documentElement.scrollWidth <= innerWidth,
    head: document.elementFromPoint(innerWidth / 2, 8).closest('header') !== null,
  };
}"""
"""Goes to a case and returns what is seen there, in one step: there are many of them."""


def test_there_are_more_than_fifty_payloads_and_none_runs_wherever_one_looks(records, report, seen):
    assert len(PAYLOADS) > 50
    page = seen.open(report)
    n_meta = page.locator("meta").count()
    assert elements(page) == OURS
    seen.go("view=cases", "#table tbody a")
    assert elements(page) == OURS
    for number, record in enumerate(records[1 : 1 + len(PAYLOADS)]):
        shown = page.evaluate(LOOK, record.case.id)
        assert shown["answer"] == [record.call.output.answer], PAYLOADS[number]
        assert shown["passages"] == [context.text for context in record.call.output.contexts], PAYLOADS[number]
        assert PAYLOADS[number] in shown["said"]
        assert shown["fits"], PAYLOADS[number]
        assert shown["head"], f"something covers the head of the page: {PAYLOADS[number]}"
        assert elements(page) == OURS, PAYLOADS[number]
    assert page.evaluate("window.pwned") is None
    assert page.locator("meta").count() == n_meta
    assert page.url.startswith(report.as_uri())


def test_no_payload_moves_what_stands_beside_it_in_the_table(report, seen):
    page = seen.open(report, "#view=cases")
    heights, edges = page.evaluate("""() => {
      const rows = [...document.querySelectorAll('#table tbody tr:not(.gap)')];
      const left = cell => cell.getBoundingClientRect().left;
      return [rows.map(row => row.getBoundingClientRect().height), rows.map(row => [...row.cells].map(left).join())];
    }""")
    assert set(heights) == {36}
    assert len(set(edges)) == 1


def test_long_names_do_not_widen_a_narrow_page(report, seen):
    seen.page.set_viewport_size({"width": 380, "height": 800})
    try:
        page = seen.open(report)
        page.evaluate("() => document.querySelectorAll('details').forEach(part => { part.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
        for after in ("#view=cases", "#case=plain", "#view=changes", "#view=provenance"):
            page = seen.open(report, after)
            assert page.evaluate("document.documentElement.scrollWidth") <= 380, after
    finally:
        seen.page.set_viewport_size({"width": 1400, "height": 900})


def test_options_show_signs_without_a_shape_by_their_codes_and_still_choose(records, report, seen):
    page = seen.open(report, "#view=cases")

    labels = page.eval_on_selector_all("#filters option", "options => options.map(option => option.textContent)")
    assert not [
        label
        for label in labels
        if re.search(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]", label)
    ]
    assert "[U+202E]txt.exe[U+202C] right to left" in labels
    assert max(map(len, labels)) <= 61
    category = next(record.case.category for record in records if "\u202e" in record.case.category)
    page.select_option("#filter-category", category)
    page.wait_for_function("() => document.getElementById('found').textContent.startsWith('1 case of')")


def test_signs_that_reorder_or_are_not_seen_are_shown_by_their_codes(report, seen):
    page = seen.open(report)
    number = next(i for i, text in enumerate(PAYLOADS) if "\u202e" in text)
    page.evaluate("id => { location.hash = new URLSearchParams({ case: id }) }", id_of(number))
    page.wait_for_selector("#case .answer .hidden-sign")

    codes = page.eval_on_selector_all("#case .answer .hidden-sign", "signs => signs.map(sign => sign.dataset.code)")
    assert codes == ["U+202E", "U+202C"] * 2
    order = page.evaluate("""() => {
      const [sign] = document.querySelectorAll('#case .answer .hidden-sign');
      const range = document.createRange();
      const after = sign.nextSibling;
      const left = at => {
        range.setStart(after, at);
        range.setEnd(after, at + 1);
        return range.getBoundingClientRect().left;
      };
      return left(0) < left(1) && left(1) < left(2);
    }""")
    assert order, "the letters after a right-to-left override still stand from left to right"


def test_no_cell_of_the_csv_is_a_formula(records, report, seen):
    page = seen.open(report, "#view=cases")

    with page.expect_download() as download:
        page.click("#csv")
    text = Path(download.value.path()).read_bytes().decode("utf-8-sig")

    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == len(records) + 1
    assert {len(line) for line in rows} == {len(rows[0])}
    for cell in (cell for line in rows[1:] for cell in line):
        assert cell.strip()[:1] not in {"=", "+", "-", "@", "＝", "|", "%"}, cell
        assert not any(sign in cell for sign in "\x00\x1b\u202e\u2066")
    assert [line[0] for line in rows if line[0][1:] in NUMBERS] == [f"'{case_id}" for case_id in NUMBERS]


FILE_NAMES = [
    name for text in PAYLOADS if (name := text.replace("/", "∕").replace("\0", "")[:80]) not in {"", ".", ".."}
]
"""The payloads as a file's name: all of them but for the two signs that no name can have."""


def test_a_report_is_the_same_under_any_name_of_its_file(tmp_path, seen):
    text = page_of([answered("plain", "It is so.", passages=[("lease", PASSAGE)])])
    assert len(FILE_NAMES) > 50
    for at in range(0, len(FILE_NAMES), 8):  # eight to a path: seven folders and the file itself
        *folders, name = FILE_NAMES[at : at + 8]
        folder = tmp_path.joinpath(*folders)
        folder.mkdir(parents=True)
        file = folder / f"{name}.html"
        file.write_text(text, encoding="utf-8")
        page = seen.open(file, "#case=plain")
        assert elements(page) == OURS, name
        assert page.evaluate("window.pwned") is None, name
        assert page.title() == "leases · 2026-03-14 · FAIL"


INJECTED = """<script>window.pwned = 1</script><img src="{url}/pixel.png" onerror="window.pwned = 2">
<script src="{url}/x.js"></script><link rel="stylesheet" href="{url}/x.css"><iframe src="{url}/frame"></iframe>
<div id="styled" style="position: fixed">over everything</div>"""
"""What somebody could put into a copy of a report; the policy in its head must keep all of it from working."""


@pytest.fixture
def listener():
    """A server on this machine that notes what is asked of it."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *said):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_policy_keeps_what_is_put_into_a_copy_from_running_and_from_asking_anybody(tmp_path, seen, listener):
    url, asked = listener
    whole = page_of([answered("plain", "It is so.", passages=[("lease", PASSAGE)])])
    changed = whole.replace('<main id="main"', f'{INJECTED.format(url=url)}<main id="main"')
    policy = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')

    def opened(name: str, text: str):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        page = seen.open(file)
        page.wait_for_load_state("load")
        found = page.evaluate("() => [window.pwned, getComputedStyle(document.getElementById('styled')).position]")
        said, seen.said[:], seen.requests[:] = list(seen.said), [], []
        return found, said

    found, said = opened("guarded.html", changed)
    assert found == [None, "static"]
    assert asked == []
    refused = {word for line in said for word in re.findall(r"[a-z]+-src", line)}
    assert {"script-src", "style-src", "img-src"} <= refused, said

    found, _ = opened("unguarded.html", policy.sub("", changed))  # without the policy all of it would have worked
    assert found[0] in {1, 2}
    assert found[1] == "fixed"
    assert {"/pixel.png", "/x.js", "/x.css"} <= set(asked)


def test_marks_hold_their_place_behind_characters_beyond_the_basic_plane(tmp_path, seen):
    passage = "🏠🏠 " + PASSAGE
    quote = "end the lease with 30 days written notice"
    kept = answered("emoji", f"😀😀😀 You may {quote}.", passages=[("lease", passage)], quotes=[("lease", quote)])
    finding = kept.scores[0].findings[0]
    assert passage[finding.source_start : finding.source_end] == quote

    page = seen.open(write_page_of(tmp_path / "emoji.html", [kept]), "#case=emoji")

    assert page.eval_on_selector_all("#case .passages mark", "marks => marks.map(m => m.textContent)") == [quote]
    marked = page.eval_on_selector_all("#case .answer mark", "marks => marks.map(m => m.textContent).join('')")
    assert marked == kept.call.output.answer[finding.answer_start : finding.answer_end]


def test_a_file_that_was_cut_off_says_so(tmp_path, report, seen):
    whole = report.read_text(encoding="utf-8")
    start = whole.index('id="pack-0">') + len('id="pack-0">')
    broken = tmp_path / "broken.html"
    broken.write_text(whole[: start + 200] + whole[whole.index("</script>", start) :], encoding="utf-8")

    page = seen.open(broken)
    page.evaluate("location.hash = 'case=plain'")
    page.wait_for_selector("[role=alert]")
    assert "The cases cannot be shown" in page.inner_text("[role=alert]")
    assert len(seen.said) == 1, "the one complaint is the file's own error"
    seen.said.clear()
