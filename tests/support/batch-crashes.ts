import { createHash } from 'node:crypto'
import { type Answered, bearer } from './admin.ts'
import { adminToken } from './daemon.ts'
import { type Call, callOn } from './fleet.ts'
import { derived } from './seeds.ts'

const uidOf = (n: number) => `04${n.toString(16).toUpperCase().padStart(12, '0')}`

/** A team with so many chips. */
export const seedOf = (chips: number) => ({
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      chipGroups: [
        {
          name: 'Stock',
          chips: Array.from({ length: chips }, (_, n) => ({ uid: uidOf(n + 1), keySet: derived.id })),
        },
      ],
    },
  ],
})

const rowsOf = (chips: number) =>
  Array.from({ length: chips }, (_, n) => ({
    row: n + 1,
    uid: uidOf(n + 1),
    redirectUrl: `https://example.com/${n + 1}`,
  }))

/** Gives each chip a URL of its own. @returns the ID of the batch, which was started */
export async function startEdit(url: string, chips: number, more: object = {}): Promise<string> {
  const call = callOn(url)
  const lines = rowsOf(chips)
    .map((row) => `${JSON.stringify(row)}\n`)
    .join('')
  const rowsHash = createHash('sha256').update(lines).digest('hex')
  const wanted = { team: 'Acme', kind: 'chips apply', total: chips, rowsHash, ...more }
  const { id } = (await call('POST /admin/batches', wanted)).body.batch
  const uploaded = await fetch(`${url}/admin/batches/${id}/rows?from=0`, {
    method: 'POST',
    headers: { ...bearer(adminToken), 'content-type': 'application/x-ndjson' },
    body: lines,
  })
  if (!uploaded.ok) throw new Error(await uploaded.text())
  await call(`POST /admin/batches/${id}/plan?report=none`)
  return id
}

/** Follows a batch to its end. @returns what it is then */
export async function untilItRests(call: Call, id: string): Promise<Answered['body']> {
  for (;;) {
    const { text } = await call(`GET /admin/batches/${id}/follow`)
    const last = JSON.parse(text.trim().split('\n').at(-1) ?? '{}')
    if (last.batch && last.batch.state !== 'running') return last.batch
  }
}

/** What the report and the audit log say of its rows. */
export async function toldOf(call: Call, id: string) {
  const lines = (await call(`GET /admin/batches/${id}/report`)).text.trim().split('\n')
  const report: { row: number; status: string }[] = lines.map((line) => JSON.parse(line))
  const audit: { action: string; detail: { changed?: number } }[] = (
    await call(`GET /admin/audit?batch=${id}&limit=1000`)
  ).body
  return {
    rows: report.map(({ row }) => row),
    statuses: [...new Set(report.map(({ status }) => status))],
    recorded: audit.reduce((sum, { detail }) => sum + (detail.changed ?? 0), 0),
    ends: audit.filter(({ action }) => action === 'batches.end').length,
  }
}
