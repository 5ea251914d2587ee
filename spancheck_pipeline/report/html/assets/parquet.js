// A Parquet file of one row group: plain, uncompressed, every column optional. The format is Apache Parquet's, its
// metadata Thrift's compact protocol; a test reads what is written here with pyarrow.

const KINDS = { string: { type: 6, converted: 0 }, double: { type: 5 }, int: { type: 1 } };

class Bytes {
  constructor() { this.parts = []; this.size = 0; }
  add(bytes) { this.parts.push(bytes); this.size += bytes.length; return this; }
  byte(value) { return this.add(Uint8Array.of(value)); }
  varint(value) {
    const bytes = [];
    for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
    bytes.push(value);
    return this.add(Uint8Array.from(bytes));
  }
  all() {
    const bytes = new Uint8Array(this.size);
    let at = 0;
    for (const part of this.parts) { bytes.set(part, at); at += part.length; }
    return bytes;
  }
}

const utf8 = (text) => new TextEncoder().encode(text);
const littleEndian = (value) => { const bytes = new Uint8Array(4); new DataView(bytes.buffer).setUint32(0, value, true); return bytes; };

// Thrift: a struct is a list of [field id, type, value]; numbers are not negative here.
const [I32, I64, BINARY, LIST, STRUCT] = [5, 6, 8, 9, 12];

const thrift = (to, type, value) => {
  if (type === I32 || type === I64) to.varint(value * 2);
  else if (type === BINARY) { const bytes = utf8(value); to.varint(bytes.length).add(bytes); }
  else if (type === LIST) {
    const [kind, items] = value;
    if (items.length < 15) to.byte((items.length << 4) | kind); else to.byte(0xf0 | kind).varint(items.length);
    for (const item of items) thrift(to, kind, item);
  } else {
    let last = 0;
    for (const [id, kind, item] of value) {
      if (item === undefined) continue;
      to.byte(((id - last) << 4) | kind);
      thrift(to, kind, item);
      last = id;
    }
    to.byte(0);
  }
  return to;
};

const pageOf = (kind, values) => {
  const levels = new Bytes();
  for (let at = 0; at < values.length;) {
    let end = at + 1;
    while (end < values.length && (values[end] === null) === (values[at] === null)) end += 1;
    levels.varint((end - at) * 2).byte(values[at] === null ? 0 : 1);
    at = end;
  }
  const page = new Bytes().add(littleEndian(levels.size)).add(levels.all());
  const known = values.filter((value) => value !== null);
  if (kind === "string") for (const value of known) { const bytes = utf8(value); page.add(littleEndian(bytes.length)).add(bytes); }
  else page.add(new Uint8Array((kind === "double" ? Float64Array : Int32Array).from(known).buffer));
  return page.all();
};

// columns: [{name, kind, values}], values null where there is none.
const parquetOf = (columns, metadata) => {
  const file = new Bytes().add(utf8("PAR1"));
  const chunks = columns.map(({ name, kind, values }) => {
    const page = pageOf(kind, values);
    const header = thrift(new Bytes(), STRUCT, [[1, I32, 0], [2, I32, page.length], [3, I32, page.length],
      [5, STRUCT, [[1, I32, values.length], [2, I32, 0], [3, I32, 3], [4, I32, 3]]]]).all();
    const offset = file.size;
    file.add(header).add(page);
    const size = header.length + page.length;
    return [[2, I64, offset], [3, STRUCT, [[1, I32, KINDS[kind].type], [2, LIST, [I32, [0, 3]]], [3, LIST, [BINARY, [name]]],
      [4, I32, 0], [5, I64, values.length], [6, I64, size], [7, I64, size], [9, I64, offset]]]];
  });
  const n = columns[0].values.length;
  const schema = [[[4, BINARY, "schema"], [5, I32, columns.length]],
    ...columns.map(({ name, kind }) => [[1, I32, KINDS[kind].type], [3, I32, 1], [4, BINARY, name], [6, I32, KINDS[kind].converted]])];
  const footer = thrift(new Bytes(), STRUCT, [[1, I32, 1], [2, LIST, [STRUCT, schema]], [3, I64, n],
    [4, LIST, [STRUCT, [[[1, LIST, [STRUCT, chunks]], [2, I64, file.size - 4], [3, I64, n]]]]],
    [5, LIST, [STRUCT, Object.entries(metadata).map(([key, value]) => [[1, BINARY, key], [2, BINARY, value]])]],
    [6, BINARY, "spancheck report"]]).all();
  return file.add(footer).add(littleEndian(footer.length)).add(utf8("PAR1")).all();
};
