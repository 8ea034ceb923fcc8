import { createHash } from 'node:crypto'
import { bearer } from './admin.ts'
import { adminToken } from './daemon.ts'
import { callOn } from './fleet.ts'
import { png } from './poap/image-bytes.ts'
import { acmeKey, derived } from './seeds.ts'

// Batches that the daemon runs, to be killed amid: each run of a kind has chips, items, or recipients of its own.

const tokens = 200
const items = 300
const chips = 400
export const ownerOf = (run: number, n = 0): string =>
  `0xbeef${run.toString(16).padStart(6, '0')}${n.toString(16).padStart(30, '0')}`
const uidOf = (run: number, n: number) => `04${(run * 1000 + n).toString(16).toUpperCase().padStart(12, '0')}`
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1)
const today = new Date().toISOString().slice(0, 10)

export const seed = {
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }],
      items: numbers(items).map((n) => ({ id: `item-${n}`, name: `Item ${n}` })),
      chipGroups: [
        {
          name: 'Jackets',
          chips: numbers(tokens).map((n) => ({
            uid: uidOf(0, n),
            keySet: derived.id,
            token: { contract: 'JKT', tokenId: `${n}`, owner: ownerOf(0) },
          })),
        },
      ],
      guestbookContracts: [
        {
          symbol: 'GB',
          name: 'Guests',
          chainId: 31337,
          events: [{ name: 'Opening', tokenId: '1', metadata: { name: 'Opening' }, chips: [] }],
        },
      ],
      badgeEvents: [
        {
          ...{ name: 'Launch', startDate: today, endDate: today, expiryDate: today },
          ...{ requestedCodes: 10, chips: [] },
        },
      ],
    },
  ],
}

/** What a batch is begun by: a command, or an upload of lines. */
export interface KilledBatch {
  readonly args?: readonly string[]
  readonly sheet?: readonly string[]
  /** As they are uploaded, if not as the sheet has them. */
  readonly lines?: readonly object[]
}

export interface KilledKind {
  readonly rows: number
  /** Whether it needs the embedded chain. */
  readonly chain?: true
  /** Whether each run has chips of its own in its group, and what they have before. */
  readonly chips?: 'registered' | 'with the badge event'
  readonly batch: (run: number, contract: string) => KilledBatch
  /** SQL: how many rows stand as the batch wants them. */
  readonly written: (run: number) => string
}

const groupOf = (run: number) => `Run ${run}`
const ofGroup = (run: number) =>
  `"chipGroupId" in (select id from "chipGroups" where name = '${groupOf(run)}')`
const chipsOf = (run: number) => `select uid from chips where ${ofGroup(run)}`
const selected = (run: number) => ['--chip-group', groupOf(run), '--yes']
const urls = (run: number) => [
  'uid,redirectUrl',
  ...numbers(chips).map((n) => `${uidOf(run, n)},https://example.com/${run}/${n}`),
]
const withUrl = (run: number) =>
  `select count(*) from chips where "redirectUrl" like 'https://example.com/${run}/%'`
const named = (run: number) => `select count(*) from items where name like 'Run ${run} %'`
const sentTo = (run: number) =>
  `select count(*) from transactions where lower(subject) like '%${ownerOf(run).slice(0, 12)}%'`
const described = (name: string) => ({
  ...{ name, collection: 'Jackets', description: '', image: '' },
  ...{ attributes: [], media_gallery: [] },
})
const picture = createHash('sha256').update(png()).digest('hex')

export const killedKinds = {
  'chips apply': {
    rows: chips,
    chips: 'registered',
    batch: (run) => ({ args: ['--file', 'a.csv', '--yes'], sheet: urls(run) }),
    written: withUrl,
  },
  'chips edit': {
    rows: chips,
    chips: 'registered',
    batch: (run) => ({ args: ['--file', 'a.csv'], sheet: urls(run) }),
    written: withUrl,
  },
  'chips disable': {
    rows: chips,
    chips: 'registered',
    batch: (run) => ({ args: selected(run) }),
    written: (run) => `select count(*) from chips where ${ofGroup(run)} and "disabledAt" is not null`,
  },
  'chips remove': {
    rows: chips,
    chips: 'registered',
    batch: (run) => ({ args: selected(run) }),
    written: (run) => `select ${chips} - count(*) from chips where ${ofGroup(run)}`,
  },
  'chips import': {
    rows: chips,
    batch: (run) => ({
      args: ['--file', 'a.csv', '--chip-group', groupOf(run), '--key-set', `${derived.id}`],
      sheet: ['uid', ...numbers(chips).map((n) => uidOf(run, n))],
    }),
    written: (run) => `select count(*) from chips where ${ofGroup(run)}`,
  },
  'items edit': {
    rows: items,
    batch: (run) => ({
      args: ['--file', 'a.csv'],
      sheet: ['id,name', ...numbers(items).map((n) => `item-${n},Run ${run} ${n}`)],
    }),
    written: named,
  },
  'items apply': {
    rows: items,
    batch: (run) => ({
      args: ['--file', 'a.csv'],
      sheet: ['id,name', ...numbers(items).map((n) => `run-${run}-${n},Run ${run} ${n}`)],
    }),
    written: named,
  },
  'badge-events assign': {
    rows: chips,
    chips: 'registered',
    batch: (run) => ({ args: ['1', ...selected(run)] }),
    written: (run) => `select count(*) from "badgeAssignments" where "chipUid" in (${chipsOf(run)})`,
  },
  'badge-events unassign': {
    rows: chips,
    chips: 'with the badge event',
    batch: (run) => ({ args: ['1', ...selected(run)] }),
    written: (run) =>
      `select ${chips} - count(*) from "badgeAssignments" where "chipUid" in (${chipsOf(run)})`,
  },
  'guestbook assign': {
    rows: chips,
    chips: 'registered',
    batch: (run) => ({ args: ['1', ...selected(run)] }),
    written: (run) => `select count(*) from "guestbookAssignments" where "chipUid" in (${chipsOf(run)})`,
  },
  'badge-events create': {
    rows: 200,
    batch: (run) => ({
      args: ['--file', 'a.csv'],
      sheet: [
        'name,startDate,endDate,expiryDate,requestedCodes,image',
        ...numbers(200).map((n) => `Run ${run} ${n},${today},${today},${today},1,badge.png`),
      ],
      lines: numbers(200).map((n) => ({
        ...{ name: `Run ${run} ${n}`, startDate: today, endDate: today, expiryDate: today },
        ...{ requestedCodes: 1, image: picture },
      })),
    }),
    written: (run) => `select count(*) from "badgeEvents" where name like 'Run ${run} %'`,
  },
  'guestbook mint': {
    rows: tokens,
    chain: true,
    batch: (run) => ({
      args: ['1', '--file', 'a.csv', '--yes'],
      sheet: ['recipient', ...numbers(tokens).map((n) => ownerOf(run, n))],
    }),
    written: sentTo,
  },
  'phygitals transfer': {
    rows: tokens,
    chain: true,
    batch: (run, contract) => ({
      args: ['--file', 'a.csv', '--yes'],
      sheet: [
        'contractAddress,chainId,tokenId,recipient',
        ...numbers(tokens).map((n) => `${contract},31337,${n},${ownerOf(run)}`),
      ],
    }),
    written: sentTo,
  },
  'phygitals metadata': {
    rows: tokens,
    chain: true,
    batch: (run) => ({
      args: ['--file', 'a.csv'],
      sheet: [
        'uid,metadata',
        ...numbers(tokens).map(
          (n) => `${uidOf(0, n)},"${JSON.stringify(described(`Run ${run} ${n}`)).replaceAll('"', '""')}"`,
        ),
      ],
    }),
    written: (run) => `select count(*) from tokens where metadata like '%"Run ${run} %'`,
  },
} satisfies Record<string, KilledKind>

const ofTeam: Record<string, string> = { 'x-svc-api-key': acmeKey }

/** Begins a batch with the admin token, or by an API key. @returns its ID */
export async function uploadBatch(
  url: string,
  kind: string,
  lines: readonly object[],
  { isAdmin = false, ...more }: { settings?: object; rate?: number; isAdmin?: boolean } = {},
): Promise<string> {
  const [root, headers] = isAdmin ? ['/admin/batches', bearer(adminToken)] : ['/batches', ofTeam]
  const text = lines.map((line, n) => `${JSON.stringify({ row: n + 1, ...line })}\n`).join('')
  const send = async (path: string, type: string, body: string | Uint8Array): Promise<string> => {
    const answer = await fetch(`${url}${root}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      body,
    })
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    return answer.text()
  }
  const rowsHash = createHash('sha256').update(text).digest('hex')
  const wanted = { ...(isAdmin && { team: 'Acme' }), kind, total: lines.length, rowsHash, ...more }
  const { id } = JSON.parse(await send('', 'application/json', JSON.stringify(wanted))).batch
  await send(`/${id}/rows?from=0`, 'application/x-ndjson', text)
  if (kind === 'badge-events create') await send(`/${id}/files/${picture}`, 'image/png', png())
  await callOn(url)(`POST ${root}/${id}/plan?report=none`, undefined, headers)
  const started = await callOn(url)(`POST ${root}/${id}/start`, undefined, headers)
  if (started.status !== 200) throw new Error(started.text)
  return id
}

/** Gives a run what its batch needs. */
export async function prepareRun(
  url: string,
  kind: KilledKind,
  run: number,
  ended: (id: string) => Promise<unknown>,
): Promise<void> {
  if (kind.chips === undefined) return
  const uids = numbers(chips).map((n) => ({ uid: uidOf(run, n) }))
  const settings = { chipGroup: groupOf(run), keySet: derived.id }
  await ended(await uploadBatch(url, 'chips import', uids, { settings, isAdmin: true }))
  if (kind.chips === 'registered') return
  const lines = uids.map((uid) => ({ ...uid, badgeEventId: 1 }))
  await ended(await uploadBatch(url, 'badge-events assign', lines))
}
