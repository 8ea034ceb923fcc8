import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { extname } from 'node:path'
import { parseExact } from '../../../values/exact-json.ts'
import { isJsonObject, type JsonObject } from '../../../values/json.ts'
import { CliError, exitCodes, UsageError } from '../../errors.ts'
import { fileProblem } from '../../file-problem.ts'
import type { System } from '../../system.ts'
import { NotText, SheetDecoder } from './decode.ts'

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
