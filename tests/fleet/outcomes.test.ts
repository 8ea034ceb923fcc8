import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { changesSomething } from '../../src/values/repeating.ts'
import { databaseOf, dropDatabaseOf } from '../support/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { leftOut, openWorld, type WritingRequest } from '../support/writing-requests.ts'

// The database is lost before and after each message of each request that changes something, and what the client is
// told is compared with what the database then holds.

const dir = `outcomes-${process.pid}`
let world: Awaited<ReturnType<typeof openWorld>>
let proxy: TcpProxy
let direct: Client

beforeAll(async () => {
  const { TAPCHIP_DATABASE_URL: url = '', TAPCHIP_DATA_KEY: dataKey = '' } = await databaseOf(dir)
  proxy = await startTcpProxy(Number(new URL(url).port))
  const through = new URL(url)
  through.port = String(proxy.port)
  world = await openWorld({ TAPCHIP_DATABASE_URL: through.href, TAPCHIP_DATA_KEY: dataKey })
  direct = new Client({ connectionString: url })
  await direct.connect()
}, 120_000)

afterAll(async () => {
  await world.close()
  await direct.end()
  await proxy.close()
  await dropDatabaseOf(dir)
})

/** What the daemon writes by itself, and what moves on once a transaction is recorded. */
const ofItself = ['leases', 'settings', 'senders', 'transactions', 'transactionAttempts', 'names']

// The last one, because the daemon goes on with badges that are left half way.
const last = 'POST /badge-events/mint'

/** Everything that the database holds, in brief, and its transactions. */
// When they were last used is stored a little later, whatever became of the request.
const withoutUse = `(to_jsonb(t) - 'lastUsedAt' - 'lastUsedFrom')::text`
const rowOf: Readonly<Record<string, string>> = { apiKeys: withoutUse, adminTokens: withoutUse }

async function ledger(id: string) {
  const { rows: tables } = await direct.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename not like 'taps\\_%'`,
  )
  const parts = tables
    .filter(({ name }) => !ofItself.includes(name))
    // Badges of tries before are delivered, and told, while the next one is made.
    .filter(({ name }) => !(id === endpoints[last].id && name === 'webhookDeliveries'))
    .map(
      ({ name }) =>
        `select '${name}' as of, md5(coalesce(string_agg(row, ',' order by row), '')) as sum from (select ${rowOf[name] ?? 't::text'} as row from "${name}" t) rows`,
    )
  const { rows } = await direct.query<{ of: string; sum: string }>(parts.join(' union all '))
  const { rows: sent } = await direct.query<{ id: string }>('select id from transactions order by id')
  return {
    sums: Object.fromEntries(rows.map(({ of, sum }) => [of, sum])),
    transactions: sent.map(({ id }) => Number(id)),
  }
}

/**
 * From the message on (of those that commit, if so told), nothing goes through; and from then on, a hundred of the
 * seconds for which the daemon waits for a lost database pass in one.
 */
function cutAt(message: number, verdict: 'cut' | 'last', only?: 'commits') {
  const real = performance.now.bind(performance)
  let [seen, commits] = [0, false]
  proxy.judge = (bytes) => {
    // Once it has come, each one is cut.
    if (only === 'commits' && seen <= message && !bytes.includes('commit')) return 'pass'
    seen += 1
    if (seen <= message) return 'pass'
    if (seen > message + 1) return 'cut'
    const begun = real()
    vi.spyOn(performance, 'now').mockImplementation(() => begun + (real() - begun) * 100)
    commits = bytes.includes('commit')
    return verdict
  }
  return () => {
    proxy.judge = () => 'pass'
    vi.restoreAllMocks()
    return { came: seen > message, commits }
  }
}

interface Told {
  status: number
  code?: string
  message?: string
  transactionId?: number
  /** Written for people: without codes and numbers. */
  isPage?: boolean
}

async function send(method: string, request: WritingRequest, key: string | undefined): Promise<Told[]> {
  const { url, body, payload = body, headers } = request
  const answer = await world.app.inject({
    ...{ method: method as 'POST', url },
    headers: { ...headers, ...(key && { 'idempotency-key': key }) },
    ...(payload === undefined ? {} : { payload }),
  })
  const { statusCode: status } = answer
  if (url.startsWith('/t')) return [toldByPage(status, answer.body)]
  if (!String(answer.headers['content-type']).includes('ndjson'))
    return [{ status, ...objectIn(answer.body) }]
  return answer.body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ message: JSON.parse(line).error, ...JSON.parse(line), status }))
}

/** What a person reads, or the page's script, of which people see the pieces of the page alone. */
function toldByPage(status: number, body: string): Told {
  const { cards, ...error } = objectIn(body)
  if (cards === undefined && 'code' in error) return { status, ...error }
  const html: string = cards?.map((card: { html: string }) => card.html).join('') ?? body
  // What the script may have to say stands in attributes.
  const message = html.replace(/<[^>]*>/g, ' ')
  const isDoubtful = message.includes('This may have worked, or not') || message.includes('so this may have')
  const isUntouched = /Nothing was used up|was not used up/.test(message)
  const code = isDoubtful ? 'outcome_unknown' : isUntouched ? 'store_unavailable' : undefined
  return {
    status,
    isPage: true,
    message: isUntouched ? 'Nothing was used up' : message,
    ...(code && { code }),
  }
}

const objectIn = (text: string) => {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Where an answer contradicts the ledger, in words. */
function contradictions(
  told: readonly Told[],
  {
    before,
    after,
    key,
  }: Record<'before' | 'after', Awaited<ReturnType<typeof ledger>>> & { key: string | undefined },
): string[] {
  const isRecorded = (id: number) => after.transactions.includes(id) && !before.transactions.includes(id)
  const made = after.transactions.filter(isRecorded)
  const changed = Object.keys(after.sums).filter((of) => after.sums[of] !== before.sums[of])
  const hasChanged = changed.length > 0 || made.length > 0
  const wrong: string[] = []
  // Of a body with several rows, those that are told as done have made theirs, and those in doubt name what they made.
  const done = told.length > 1 ? told.filter((one) => one.code === undefined && one.status < 300).length : 0
  const unnamed = made.filter((id) => told.every((one) => one.code === undefined || one.transactionId !== id))
  for (const { status, code, message = '', transactionId, isPage } of told) {
    const say = (what: string) => wrong.push(`${what} [${status} ${code} ${transactionId}: ${message}]`)
    if (
      status >= 500 &&
      code !== 'outcome_unknown' &&
      code !== 'store_unavailable' &&
      code !== 'chain_unavailable'
    )
      say('is an error of another kind')
    if (/Nothing was/.test(message) && hasChanged && told.length === 1)
      say(`says that nothing was changed, and ${[...changed, ...made].join()} was`)
    // The group of an import is made before its rows are read.
    const isUntouched = code === 'store_unavailable' && !message.includes('No rows were written')
    if (isUntouched && hasChanged && told.length === 1) say(`${[...changed, ...made].join()} was changed`)
    if (
      code === 'outcome_unknown' &&
      !isPage &&
      unnamed.length > done &&
      (transactionId === undefined || !isRecorded(transactionId))
    )
      say(`does not name the transaction ${made}`)
    if (transactionId !== undefined && /is recorded as/.test(message) && !isRecorded(transactionId))
      say('names a transaction that is not there')
    if (/was done before/.test(message) && !hasChanged) say('says that something was done, and nothing was')
    if (key === undefined && /Idempotency-Key/.test(message)) say('tells of a key that it did not have')
    if (
      code === 'outcome_unknown' &&
      !isPage &&
      made.length > 0 &&
      key === undefined &&
      !/transactions show|works only once/.test(message)
    )
      say('does not say where to look')
  }
  return wrong
}

const writing = Object.entries(endpoints)
  .filter(([key]) => changesSomething(key))
  .sort(([a], [b]) => Number(a === last) - Number(b === last))

test('each endpoint that changes something is tried here, or named', () => {
  const missing = writing.map(([key]) => key).filter((key) => !(key in world.requests) && !(key in leftOut))
  expect(missing).toEqual([])
})

describe('the words agree with the ledger, wherever the database is lost', () => {
  // First, while the contract lets a token be claimed by one tap.
  test.each([
    'a tap',
    'a claim by a form',
    'a claim by the script',
    'a guestbook entry by a form',
    'a guestbook entry by the script',
  ])('of the tap page: %s', { timeout: 900_000 }, async (id) => {
    const page = world.pages[id]
    await loseEverywhere({ id, method: page?.method ?? '', prepare: page?.prepare, most: 1 })
  })

  test.each(writing.filter(([key]) => !(key in leftOut)))(
    '%s',
    { timeout: 900_000 },
    async (endpoint, spec) => {
      const { id } = spec
      const [method = ''] = endpoint.split(' ')
      await loseEverywhere({
        ...{ id, method, prepare: world.requests[endpoint as keyof typeof endpoints] },
        isRepeatable: 'isRepeatable' in spec && spec.isRepeatable,
        // An event is created in the write that mints its first token.
        most: /Guestbook/.test(id) ? 2 : 1,
      })
    },
  )
})

interface Lost {
  id: string
  method: string
  prepare: (() => Promise<WritingRequest>) | undefined
  /** By an Idempotency-Key. */
  isRepeatable?: boolean
  /** Transactions that it records. */
  most: number
}

async function loseEverywhere({ id, method, prepare, isRepeatable, most }: Lost) {
  const wrong: string[] = []
  const codes = new Set<string>()
  /** @returns whether there was such a message, and whether it was to commit */
  const lose = async (message: number, verdict: 'cut' | 'last', only?: 'commits') => {
    const request = await prepare?.()
    if (request === undefined) throw new Error('There is no such request')
    await untilSettled()
    const key = isRepeatable && message % 2 === 1 ? `${id}-${message}-${verdict}` : undefined
    // Else it is stored amid the request's own messages.
    await world.ctx.credentials.uses.flush()
    const before = await ledger(id)
    const restore = cutAt(message, verdict, only)
    const told = await send(method, request, key)
    const { came, commits } = restore()
    if (!came && told.some(({ status }) => status >= 400)) wrong.push(`fails anyway: ${JSON.stringify(told)}`)
    if (came) await untilItAnswers()
    const after = await ledger(id)
    for (const { status, code } of told) codes.add(code ?? String(status))
    wrong.push(
      ...contradictions(told, { before, after, key }).map((what) => `${verdict} at ${message}: ${what}`),
    )
    // A button has the effect of one, however often it is pressed.
    if ((key !== undefined || request.url === '/t/act') && told[0]?.code === 'outcome_unknown') {
      const [again] = await send(method, request, key)
      const made = (await ledger(id)).transactions.length - before.transactions.length
      if ((again?.status ?? 0) >= 400 || made > most) wrong.push(`again: ${made} ${JSON.stringify(again)}`)
    }
    return { came, commits, told }
  }
  // Until a request has no message there, or has been recorded for a while: then it only waits.
  let [message, unknown] = [0, 0]
  for (let came = true; came && unknown < 4 && message < 40; message += 1) {
    const lost = await lose(message, 'last')
    came = lost.came
    unknown = lost.told[0]?.code === 'outcome_unknown' ? unknown + 1 : 0
    // What is lost before it is done looks the same from here.
    if (lost.commits) await lose(message, 'cut')
  }
  // Its end may have been passed over: messages of the daemon's own came in between, or connections were made anew.
  // A tap has no commit, but one statement; from behind, the first one that comes is the last one.
  for (let times = 0; !codes.has('outcome_unknown') && times < 48; times += 1) {
    await lose(times % 4, 'last', 'commits')
    if (!codes.has('outcome_unknown')) await lose(message + 7 - (times % (message + 8)), 'last')
  }
  expect(wrong).toEqual([])
  expect([...codes]).toContain('outcome_unknown')
}

const untilSettled = () =>
  expect
    .poll(async () => {
      const open = 'select 1 from transactions where "settledAt" is null and "chainId" = 31337'
      return (await direct.query(open)).rowCount
    })
    .toBe(0)

async function untilItAnswers() {
  await expect.poll(async () => (await world.app.inject({ url: '/readyz' })).statusCode).toBe(200)
}
