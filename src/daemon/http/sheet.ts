import { TextDecoder } from 'node:util'
import { DomainError } from '../domain/errors.ts'
import { openCsv, openJsonLines, type SheetBlock } from './sheet-formats.ts'

interface Sheet {
  readonly blocks: AsyncIterable<SheetBlock>
  /** Discards the rest of the body: a client that is still sending would not see the answer otherwise. */
  drain(): void
}

/**
 * Parses a sheet while it arrives, as CSV or JSON lines by its content type; the body is read no faster than
 * its rows are consumed.
 * @throws DomainError invalid_input if the first row is invalid, unsupported_media_type
 */
export async function openSheet(
  body: AsyncIterable<Uint8Array> | undefined | null,
  contentType: string | undefined,
  columns: readonly string[],
): Promise<Sheet> {
  const open = readerOf(contentType)
  const texts = decoded(body ?? nothing())
  const drain = () => void drainAll(texts)
  try {
    return { blocks: await open(texts, columns), drain }
  } catch (error) {
    drain()
    throw error
  }
}

function readerOf(contentType: string | undefined) {
  const type = contentType?.split(';')[0]?.trim().toLowerCase()
  if (type === 'text/csv') return openCsv
  if (type === 'application/x-ndjson' || type === 'application/jsonl') return openJsonLines
  throw new DomainError(
    'unsupported_media_type',
    'Send CSV with content-type: text/csv, or JSON lines with content-type: application/x-ndjson.',
  )
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Decodes the body and drops a byte order mark. */
async function* decoded(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8')
  for await (const chunk of body) yield decoder.decode(chunk, { stream: true })
  yield decoder.decode()
}

async function drainAll(texts: AsyncGenerator<string>): Promise<void> {
  try {
    while (!(await texts.next()).done);
  } catch {
    // The client disconnected; that is fine.
  }
}
