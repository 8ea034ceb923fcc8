import { TextDecoder } from 'node:util'

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'

/** By the byte order mark; without one, the bytes of UTF-16 text in Latin script are zero every second time. */
const encodingOf = (bytes: Buffer): Encoding => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  const start = bytes.subarray(0, 64)
  const zeros = [0, 0]
  for (const [at, byte] of start.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  if (odd > start.length / 4 && even === 0) return 'utf-16le'
  return even > start.length / 4 && odd === 0 ? 'utf-16be' : 'utf-8'
}

/** Also what Windows-1252 leaves open: bytes of a picture or an archive, not of a sheet. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const binary = /[\u0000-\u0008\u000e-\u001f\u0080-\u009f]/

export class NotText extends Error {}

const newline = 0x0a

/** Decodes what spreadsheets save: UTF-8, UTF-16, or Windows-1252. Bytes go in, text comes out, without its mark. */
export class SheetDecoder {
  encoding: Encoding | undefined
  #decoder = new TextDecoder()
  /** UTF-8 is decoded line by line, so that no character is cut where Windows-1252 has to take over. */
  #buffered = Buffer.alloc(0)
  #isAscii = true

  /** @throws NotText */
  push(chunk: Buffer): string {
    if (this.encoding === undefined) {
      this.encoding = encodingOf(chunk)
      this.#decoder = new TextDecoder(this.encoding, { fatal: true })
    }
    if (this.encoding !== 'utf-8') return this.#decode(chunk)
    const cut = chunk.lastIndexOf(newline) + 1
    if (cut === 0) {
      this.#buffered = Buffer.concat([this.#buffered, chunk])
      return ''
    }
    const lines = Buffer.concat([this.#buffered, chunk.subarray(0, cut)])
    this.#buffered = Buffer.from(chunk.subarray(cut))
    return this.#decode(lines)
  }

  /** @throws NotText */
  end(): string {
    const last = this.#buffered
    this.#buffered = Buffer.alloc(0)
    return this.#decode(last) + this.#orNotText(() => this.#decoder.decode())
  }

  #decode(bytes: Buffer): string {
    if (this.encoding === 'utf-8') {
      try {
        const text = this.#decoder.decode(bytes, { stream: true })
        this.#isAscii &&= text.length === bytes.length
        return text
      } catch {
        // Text that was UTF-8 so far is damaged, and not in another encoding.
        if (!this.#isAscii) throw new NotText()
        this.encoding = 'windows-1252'
        this.#decoder = new TextDecoder('windows-1252')
      }
    }
    const text = this.#orNotText(() => this.#decoder.decode(bytes, { stream: true }))
    if (this.encoding === 'windows-1252' && binary.test(text)) throw new NotText()
    return text
  }

  #orNotText(decode: () => string): string {
    try {
      return decode()
    } catch {
      throw new NotText()
    }
  }
}
