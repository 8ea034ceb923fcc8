import { createHash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { stringifyExact } from '../../values/json.ts'
import type { SheetRow } from './sheet-kind.ts'

/** Characters that are deflated together. */
const blockSize = 256 * 1024

/** The daemon takes more in a request; a shorter one loses less where it breaks off. */
const bytesPerRequest = 4 * 1024 * 1024

interface Block {
  readonly deflated: Buffer
  readonly rows: number
  readonly bytes: number
}

/** The lines of a batch as they are uploaded, deflated: a million rows are kept until the last one has arrived. */
export class RowLines {
  readonly #blocks: Block[] = []
  readonly #hash = createHash('sha256')
  #text = ''
  #rowsInText = 0
  count = 0

  add({ row }: SheetRow, line: object): void {
    this.#text += `${stringifyExact({ row, ...line })}\n`
    this.#rowsInText += 1
    this.count += 1
    if (this.#text.length >= blockSize) this.#close()
  }

  /** SHA-256 in hex of all lines, and of what holds for all of them. Call it once, after the last row. */
  hash(settings: object = {}): string {
    this.#close()
    return this.#hash.update(JSON.stringify(settings)).digest('hex')
  }

  /** A request's worth of lines, after the first `from` rows. */
  after(from: number): { readonly rows: number; readonly content: Iterable<Buffer> } {
    let at = 0
    let skipped = 0
    for (; at < this.#blocks.length; at += 1) {
      const rows = this.#blocks[at]?.rows ?? 0
      if (skipped + rows > from) break
      skipped += rows
    }
    let to = at
    let rows = skipped - from
    for (let bytes = 0; to < this.#blocks.length; to += 1) {
      const block = this.#blocks[to]
      if (block === undefined || (to > at && bytes + block.bytes > bytesPerRequest)) break
      bytes += block.bytes
      rows += block.rows
    }
    const blocks = this.#blocks.slice(at, to)
    const cut = from - skipped
    // Read from its start again where the request is repeated.
    const content = {
      *[Symbol.iterator]() {
        for (const [i, { deflated }] of blocks.entries()) {
          const lines = inflateRawSync(deflated)
          yield i === 0 ? withoutLines(lines, cut) : lines
        }
      },
    }
    return { rows, content }
  }

  #close(): void {
    if (this.#text === '') return
    const bytes = Buffer.from(this.#text)
    this.#hash.update(bytes)
    this.#blocks.push({
      deflated: deflateRawSync(bytes, { level: 1 }),
      rows: this.#rowsInText,
      bytes: bytes.length,
    })
    this.#text = ''
    this.#rowsInText = 0
  }
}

const newline = 0x0a

const withoutLines = (lines: Buffer, count: number): Buffer => {
  let at = 0
  for (let i = 0; i < count; i += 1) at = lines.indexOf(newline, at) + 1
  return lines.subarray(at)
}
