import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Deliverer } from '../../src/daemon/webhooks/deliverer.ts'
import type { DeliveryStore } from '../../src/daemon/webhooks/delivery-store.ts'
import type { Job, Target } from '../../src/daemon/webhooks/lane.ts'
import { Pace } from '../../src/daemon/webhooks/pace.ts'
import { attempt } from '../../src/daemon/webhooks/try.ts'

// Rules of the deliverer alone: the store is in memory, and time passes when it is told to.

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

type Answer = { status: number; headers: Record<string, string> }
type Row = { job: Job; dueAt: number | null; isSettled: boolean }

const clock = { now: () => Date.now(), confirmedTime: () => Date.now(), monotonic: () => performance.now() }
const answer = (status: number, headers = {}): Answer => ({ status, headers })
const silence = () =>
  new Promise<never>((_, reject) => setTimeout(() => reject(new Error('no answer')), 10_000))
const passing = (ms: number) => vi.advanceTimersByTimeAsync(ms)

function open(send: (url: string, messageId: string) => Promise<Answer>) {
  const targets: Target[] = []
  const rows: Row[] = []
  const sent: string[] = []
  const disabled: string[] = []
  const errors: unknown[] = []
  const hooks = {
    writing: async () => undefined as unknown,
    targets: async () => targets as readonly Target[],
  }
  const store: DeliveryStore = {
    targets: () => hooks.targets(),
    releaseAll: async () => undefined,
    withWork: async () => [],
    release: async () => undefined,
    claimed: async () => undefined,
    tidy: async () => false,
    async hasten() {
      for (const row of rows) row.dueAt = Date.now()
    },
    async disable({ id, url }) {
      disabled.push(url)
      targets.splice(
        targets.findIndex((one) => one.id === id),
        1,
      )
    },
    async exchange(results, wanted) {
      for (const { id, dueAt, outcome } of results)
        Object.assign(rows[id] ?? {}, { dueAt, isSettled: outcome !== 'again' })
      const claimed = wanted.map(({ webhookId, limit }) => {
        const waiting = rows.filter(({ job, isSettled }) => job.webhookId === webhookId && !isSettled)
        const due = waiting.filter(({ dueAt }) => dueAt === null || dueAt <= Date.now()).slice(0, limit)
        for (const row of due) row.dueAt = Date.now() + 300_000
        const nextDueAt = Math.min(...waiting.map(({ dueAt }) => dueAt ?? 0))
        return { webhookId, jobs: due.map(({ job }) => job), isMore: due.length === limit, nextDueAt }
      })
      await hooks.writing()
      return claimed
    },
  }
  const deliverer = new Deliverer({
    ...{ store, clock, chance: () => 0.5, failed: (error: unknown) => errors.push(error) },
    pace: new Pace({ monotonic: clock.monotonic, utilization: () => 0 }),
    send: async ({ url, headers }) => {
      const id = String(headers?.['webhook-id'])
      sent.push(id)
      return send(url, id)
    },
  })
  const webhook = (id: number, teamId = 1) =>
    targets.push({
      id,
      teamId,
      url: `https://${id}.example`,
      secrets: [{ bytes: Buffer.of(1), until: null }],
    })
  const message = (webhookId: number, messageId: string) => {
    const at = new Date().toISOString()
    const job = { id: rows.length, webhookId, messageId, type: 'tap.valid', at, chipUid: null, data: '{}' }
    rows.push({ job: { ...job, attempts: 0, since: at }, dueAt: null, isSettled: false })
  }
  return { ...{ deliverer, targets, rows, sent, disabled, errors, hooks, webhook, message } }
}

test('a message that fails while others are claimed is tried again as soon as any', async () => {
  let fail = (_error: Error) => undefined as unknown
  let isFirst = true
  const t = open(async (_url, id) => {
    if (id !== 'a' || !isFirst) return answer(204)
    isFirst = false
    return new Promise((_, reject) => {
      fail = reject
    })
  })
  t.webhook(1)
  t.message(1, 'a')
  t.deliverer.start()
  await passing(100)
  expect(t.sent).toEqual(['a'])
  t.message(1, 'b')
  t.hooks.writing = async () => {
    fail(new Error('connection lost'))
    for (let n = 0; n < 100; n += 1) await Promise.resolve()
  }
  t.deliverer.recorded(1)
  await passing(100)
  expect(t.sent).toEqual(['a', 'b'])
  await passing(3000)
  expect(t.sent).toEqual(['a', 'b', 'a'])
  expect(t.rows.every(({ isSettled }) => isSettled)).toBe(true)
})

test('410 ends the URL that answered it: not a new one, and nothing more is sent to it', async () => {
  const called: { url: string; end(): void }[] = []
  const t = open((url) => new Promise((resolve) => called.push({ url, end: () => resolve(answer(410)) })))
  t.webhook(1)
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) t.message(1, id)
  t.deliverer.start()
  await passing(100)
  expect(called.map(({ url }) => url)).toEqual(['https://1.example', 'https://1.example'])
  Object.assign(t.targets, [{ ...t.targets[0], url: 'https://new.example' }])
  t.deliverer.changed()
  called[0]?.end()
  await passing(100)
  called[1]?.end()
  await passing(100)
  expect(t.disabled).toEqual([])
  expect(called.at(-1)?.url).toBe('https://new.example')
  called.at(-1)?.end()
  await passing(100)
  expect(t.disabled).toEqual(['https://new.example'])
  const { length } = called
  await passing(60_000)
  expect(called).toHaveLength(length)
})

test('receivers that never answer keep neither another team nor a new webhook waiting', async () => {
  let inFlight = 0
  const most = { ofOne: 0 }
  const t = open(async (url) => {
    const isDead = Number(new URL(url).hostname.split('.')[0]) < 1000
    if (!isDead) return answer(204)
    inFlight += 1
    most.ofOne = Math.max(most.ofOne, inFlight)
    return silence().finally(() => {
      inFlight -= 1
    })
  })
  for (let id = 0; id < 20; id += 1) t.webhook(id, 1)
  for (let id = 0; id < 20; id += 1) for (const n of [1, 2, 3]) t.message(id, `dead ${id} ${n}`)
  t.webhook(1000, 2)
  t.message(1000, 'good')
  t.deliverer.start()
  await passing(100)
  expect(t.sent).toContain('good')
  expect(most.ofOne).toBe(8)
  for (let id = 20; id < 100; id += 1) {
    t.webhook(id, 2 + (id % 4))
    t.message(id, `dead ${id}`)
  }
  t.deliverer.changed()
  await passing(120_000)
  expect(inFlight).toBeGreaterThan(20)
  t.webhook(1001, 9)
  t.message(1001, 'new')
  t.deliverer.changed()
  await passing(200)
  expect(t.sent).toContain('new')
})

test('while writes or reads fail, there is a run every few seconds and one line, and nothing is lost', async () => {
  const t = open(async () => answer(204))
  let writes = 0
  t.hooks.targets = async () => {
    t.hooks.targets = async () => t.targets
    throw new Error('disk I/O error')
  }
  t.hooks.writing = async () => {
    writes += 1
    throw new Error('disk is full')
  }
  t.webhook(1)
  t.message(1, 'a')
  t.deliverer.start()
  for (let n = 0; n < 100; n += 1) {
    t.deliverer.recorded(1)
    await passing(100)
  }
  expect(writes).toBeGreaterThan(1)
  expect(writes).toBeLessThan(5)
  expect(t.errors).toHaveLength(1)
  t.hooks.writing = async () => undefined
  for (const row of t.rows) row.dueAt = null
  await passing(4000)
  expect(t.sent).toEqual(['a'])
})

test('a clock that is set forward sends nothing twice, and one that is set back holds nothing up', async () => {
  let status = 204
  const t = open((_url, id) => {
    if (id === 'late') return Promise.resolve(answer(status))
    return new Promise((resolve) => setTimeout(() => resolve(answer(204)), 500))
  })
  t.webhook(1)
  for (const id of ['a', 'b', 'c']) t.message(1, id)
  t.deliverer.start()
  await passing(100)
  expect(t.sent).toEqual(['a', 'b'])
  vi.setSystemTime(Date.now() + 600_000)
  t.deliverer.recorded(1)
  await passing(5000)
  expect(t.sent).toEqual(['a', 'b', 'c'])

  status = 500
  t.webhook(2, 2)
  t.message(2, 'late')
  t.deliverer.changed()
  await passing(100)
  expect(t.sent.at(-1)).toBe('late')
  status = 204
  vi.setSystemTime(Date.now() - 86_400_000)
  await passing(35_000)
  expect(t.rows.at(-1)?.isSettled).toBe(true)
})

test('Retry-After is heeded at each try, up to six hours', async () => {
  const at = new Date().toISOString()
  const job = { id: 1, webhookId: 1, messageId: 'a', type: 'tap.valid', at, chipUid: null, data: '{}' }
  const target = { id: 1, teamId: 1, url: 'https://example.com', secrets: [] }
  const dueIn = async (seconds: string) => {
    const send = async () => answer(503, { 'retry-after': seconds })
    const [{ dueAt }] = await attempt(
      { clock, send, chance: () => 0.5 },
      { ...job, attempts: 0, since: at },
      target,
    )
    return ((dueAt ?? 0) - Date.now()) / 1000
  }
  expect([await dueIn('1'), await dueIn('60'), await dueIn('86400')]).toEqual([2, 60, 21_600])
})
