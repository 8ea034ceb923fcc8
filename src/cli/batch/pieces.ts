const newline = 10

/** Blocks cut to at most so many rows; where a cell holds a line end, to fewer. */
export function* piecesOf(
  blocks: readonly Buffer[],
  most: number,
): Generator<{ readonly bytes: Buffer; readonly rows: number }> {
  for (const block of blocks) {
    if (!Number.isFinite(most)) {
      yield { bytes: block, rows: 0 }
      continue
    }
    for (let from = 0; from < block.length; ) {
      let to = from
      let rows = 0
      for (; rows < most && to < block.length; rows++) to = block.indexOf(newline, to) + 1 || block.length
      yield { bytes: block.subarray(from, to), rows }
      from = to
    }
  }
}
