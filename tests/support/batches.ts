import { createHash } from 'node:crypto'
import type { AdminApp, Answered } from './admin.ts'

type Line = Record<string, unknown> & { row: number; status: string; error?: string }

export const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

const jsonLines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

/** Batches by HTTP: with the admin token, or with other headers and then by its team's endpoints. */
export function batchesBy(t: AdminApp, headers: Record<string, string> = t.admin, root = '/admin/batches') {
  const call = (method: string, path: string, body?: unknown) =>
    t.call(`${method} ${root}${path}`, body, headers)
  const create = (kind: string, rows: readonly object[], more: object = {}): Promise<Answered> =>
    call('POST', '', {
      ...(root.startsWith('/admin') ? { team: 'Acme' } : {}),
      kind,
      total: rows.length,
      rowsHash: createHash('sha256').update(jsonLines(rows)).digest('hex'),
      ...more,
    })
  const upload = async (id: string, rows: readonly object[], from = 0): Promise<Answered> => {
    const answer = await t.app.inject({
      method: 'POST',
      url: `${root}/${id}/rows?from=${from}`,
      headers: { ...headers, 'content-type': 'application/x-ndjson' },
      payload: jsonLines(rows),
    })
    return { status: answer.statusCode, body: answer.json(), text: answer.body }
  }
  /** A batch with all its rows. @returns its ID */
  const uploaded = async (kind: string, rows: readonly object[], more: object = {}): Promise<string> => {
    const { status, body, text } = await create(kind, rows, more)
    if (status !== 200) throw new Error(text)
    const answer = await upload(body.batch.id, rows)
    if (answer.status !== 200) throw new Error(answer.text)
    return body.batch.id
  }
  const plan = async (id: string, query = '') => linesOf((await call('POST', `/${id}/plan${query}`)).text)
  const show = async (id: string) => (await call('GET', `/${id}`)).body
  const report = async (id: string, query = ''): Promise<Line[]> =>
    linesOf((await call('GET', `/${id}/report${query}`)).text)
  /** Starts or resumes it, and waits until it rests. */
  const run = async (id: string, step = 'start', body?: object) => {
    const { status, text } = await call('POST', `/${id}/${step}`, body)
    if (status !== 200) throw new Error(text)
    await t.ctx.batches.tick()
    return show(id)
  }
  const follow = async (id: string, after = 0) =>
    linesOf((await call('GET', `/${id}/follow?after=${after}`)).text)
  return { call, create, upload, uploaded, plan, show, report, run, follow }
}
