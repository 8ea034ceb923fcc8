import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { extname } from 'node:path'
import { TextDecoder } from 'node:util'
import { isJsonObject, type JsonObject, parseExact } from '../../../values/json.ts'
import { CliError, exitCodes, UsageError } from '../../errors.ts'
import { fileProblem } from '../../file-problem.ts'
import type { System } from '../../system.ts'

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

class NotText extends Error {}

const newline = 0x0a

/** Decodes what spreadsheets save: UTF-8, UTF-16, or Windows-1252. Bytes go in, text comes out, without its mark. */
class SheetDecoder {
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

export interface Source {
  /** The name for messages; includes the encoding if the file was not UTF-8. */
  readonly name: string
  readonly file: string
  /** Absolute; undefined for standard input. */
  readonly path: string | undefined
  readonly extension: string
  /** Decoded text without its byte order mark. */
  readonly chunks: AsyncGenerator<string>
  /** SHA-256 of the bytes, once all of them are read. */
  readonly sha256: () => string
}

export const inputOf = ({ file, path, sha256 }: Source) => ({
  name: file,
  path: path ?? null,
  sha256: sha256(),
})

const chunkSize = 1024 * 1024

export const openSource = (system: System, file: string): Source => {
  const standard = file === '-'
  const path = standard ? undefined : file.startsWith('/') ? file : `${system.cwd}/${file}`
  const name = standard ? 'Standard input' : file
  const hash = createHash('sha256')
  let digest: string | undefined
  const bytes = path === undefined ? system.stdin : createReadStream(path, { highWaterMark: chunkSize })
  const decoder = new SheetDecoder()
  return {
    get name() {
      return decoder.encoding === 'windows-1252' ? `${name} (not UTF-8: read as Windows-1252)` : name
    },
    file: name,
    path,
    extension: standard ? '' : extname(file).toLowerCase(),
    chunks: decoded(bytes, name, decoder, (chunk) => hash.update(chunk)),
    sha256: () => (digest ??= hash.digest('hex')),
  }
}

async function* decoded(
  bytes: NodeJS.ReadableStream,
  name: string,
  decoder: SheetDecoder,
  onBytes: (chunk: Buffer) => void,
): AsyncGenerator<string> {
  try {
    for await (const piece of bytes) {
      const chunk = Buffer.from(piece)
      onBytes(chunk)
      yield decoder.push(chunk)
    }
    yield decoder.end()
  } catch (error) {
    if (error instanceof NotText) {
      throw new UsageError(
        `${name} is not UTF-8 text, nor UTF-16, nor Windows-1252. Nothing was written.`,
        'Save it as CSV UTF-8.',
      )
    }
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EISDIR')) {
      throw new UsageError(
        `${name} ${error.code === 'ENOENT' ? 'does not exist' : 'is a folder'}.`,
        'Give the path of a file, or - for standard input.',
      )
    }
    throw (
      fileProblem(error, { path: name, verb: 'read', exitCode: exitCodes.usage }) ??
      new CliError(`${name} cannot be read: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      })
    )
  }
}

/** Reads one JSON object from a file, or from standard input (`-`). The daemon checks its fields. @throws UsageError */
export const readJsonObject = async (system: System, file: string): Promise<JsonObject> => {
  const source = openSource(system, file)
  let text = ''
  for await (const chunk of source.chunks) text += chunk
  let value: unknown
  try {
    value = parseExact(text)
  } catch {
    // The parser's message would quote the text, which may be a key.
    throw new UsageError(`${source.name} is not JSON.`)
  }
  if (isJsonObject(value)) return value
  throw new UsageError(`${source.name} must contain a single JSON object.`)
}
