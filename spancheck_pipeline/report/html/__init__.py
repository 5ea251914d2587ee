"""One report of one run as one HTML file that needs nothing else: no network, no font, no library.

``overview.py`` says what stands on the page, ``records.py`` what it keeps of a case, ``packing.py`` how texts are
packed into it, ``page.py`` writes it; template, style sheet and scripts are in ``assets/``. Reading what a report is
made from lives in ``api/reporting.py``, and where it is kept in ``storage/pages.py``.
"""
