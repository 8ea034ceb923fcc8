import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { extname } from 'node:path'
import { TextDecoder } from 'node:util'
import { CliError, exitCodes, UsageError } from '../../errors.ts'
import { fileProblem } from '../../file-problem.ts'
import { isJsonObject, type JsonObject } from '../../json.ts'
import type { System } from '../../system.ts'
import type { Header } from '../journal.ts'

export interface Source {
  /** For messages. */
  readonly name: string
  /** The absolute path; undefined for standard input. */
  readonly path: string | undefined
  readonly extension: string
  /** The text, decoded, without its byte order mark. */
  readonly chunks: AsyncGenerator<string>
  /** SHA-256 of the bytes, once they are read. */
  readonly sha256: () => string
}

/** As a journal names it, once it is read. */
export const inputOf = ({ name, path, sha256 }: Source): Header['input'] => ({
  name,
  path: path ?? null,
  sha256: sha256(),
})

const chunkSize = 1024 * 1024

/** `-` is standard input. */
export const openSource = (system: System, file: string): Source => {
  const standard = file === '-'
  const path = standard ? undefined : file.startsWith('/') ? file : `${system.cwd}/${file}`
  const name = standard ? 'Standard input' : file
  const hash = createHash('sha256')
  let digest: string | undefined
  const bytes = path === undefined ? system.stdin : createReadStream(path, { highWaterMark: chunkSize })
  return {
    name,
    path,
    extension: standard ? '' : extname(file).toLowerCase(),
    chunks: decoded(bytes, name, (chunk) => hash.update(chunk)),
    sha256: () => (digest ??= hash.digest('hex')),
  }
}

async function* decoded(
  bytes: NodeJS.ReadableStream,
  name: string,
  onBytes: (chunk: Buffer) => void,
): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined
  try {
    for await (const piece of bytes) {
      const chunk = Buffer.from(piece)
      onBytes(chunk)
      // What Excel calls "Unicode text" is UTF-16 with its mark; the decoder drops either mark.
      decoder ??= new TextDecoder(chunk[0] === 0xff && chunk[1] === 0xfe ? 'utf-16le' : 'utf-8', {
        fatal: true,
      })
      yield decoder.decode(chunk, { stream: true })
    }
    yield decoder?.decode() ?? ''
  } catch (error) {
    if (error instanceof TypeError) {
      throw new UsageError(`${name} is not UTF-8 text. Nothing was written.`, 'Save it as CSV UTF-8.')
    }
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EISDIR')) {
      throw new UsageError(
        `${name} is ${error.code === 'ENOENT' ? 'not there' : 'a folder'}.`,
        'Give a file: --file FILE, or - for standard input.',
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

/** One JSON object from a file, or from standard input (`-`). The daemon checks what is in it. */
export const readJsonObject = async (system: System, file: string): Promise<JsonObject> => {
  const source = openSource(system, file)
  let text = ''
  for await (const chunk of source.chunks) text += chunk
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's own message quotes the text, and the text may be a key.
    throw new UsageError(`${source.name} is not JSON.`)
  }
  if (isJsonObject(value)) return value
  throw new UsageError(`${source.name} must hold one JSON object.`)
}
