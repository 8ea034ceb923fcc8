import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createOpenSea, type RefreshResult, type Token } from '../../src/daemon/marketplace/opensea.ts'
import {
  type RefreshJob,
  RefreshQueue,
  type RefreshStore,
} from '../../src/daemon/marketplace/refresh-queue.ts'
import { createOutbound } from '../../src/daemon/outbound/outbound.ts'
import { openOpenSea } from '../support/opensea.ts'

const minute = 60_000
const contract = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
const start = 1_900_000_000_000
let now = start
beforeEach(() => {
  now = start
})
const clock = { now: () => now, monotonic: () => now }

/** Jobs in memory, and what became of them. */
function memory() {
  const jobs: (RefreshJob & { at: number })[] = []
  const ended: [number, string][] = []
  const end = (id: number, how: string) => {
    ended.push([id, how])
    jobs.splice(
      jobs.findIndex((job) => job.id === id),
      1,
    )
  }
  let ids = 0
  const store: RefreshStore = {
    due: async (at, limit) => jobs.filter((job) => job.at <= at).slice(0, limit),
    done: async (id) => end(id, 'done'),
    giveUp: async (id, reason) => end(id, reason),
    later: async (id, at) => {
      for (const job of jobs) if (job.id === id) job.at = at
    },
  }
  const add = (tokenId: string, more: Partial<RefreshJob> = {}) => {
    const job = { id: ++ids, chainId: 1, contract, tokenId, queuedAt: now, at: now, ...more }
    jobs.push(job)
    return job.id
  }
  return { store, jobs, ended, add }
}

/** A marketplace that answers as told, then that all is done. */
function scripted(...answers: RefreshResult[]) {
  const asked: { tokenId: string; at: number }[] = []
  const refresh = async ({ tokenId }: Token): Promise<RefreshResult> => {
    asked.push({ tokenId, at: (now - start) / minute })
    return answers.shift() ?? { kind: 'done' }
  }
  return { asked, refresh }
}

const broken = (count: number): RefreshResult[] =>
  Array.from({ length: count }, () => ({ kind: 'retry', afterMs: 0, scope: 'token', reason: 'out of order' }))

const queues: RefreshQueue[] = []
afterEach(async () => {
  for (const queue of queues.splice(0)) await queue.stop()
})

function queueOf(store: RefreshStore, marketplace: ReturnType<typeof scripted>, more = {}) {
  const failed = vi.fn()
  const queue = new RefreshQueue({ store, marketplace, clock, failed, ...more })
  queues.push(queue)
  return { queue, failed }
}

/** Ticks once a minute. */
async function pass(queue: RefreshQueue, minutes: number) {
  for (let passed = 0; passed < minutes; passed++) {
    now += minute
    await queue.tick()
  }
}

describe('the queue', () => {
  test('refreshes what waits, and is done with it', async () => {
    const { store, jobs, ended, add } = memory()
    const marketplace = scripted()
    const { queue } = queueOf(store, marketplace)
    add('1')
    add('2')
    expect(await queue.tick()).toBe(2)
    expect(await queue.tick()).toBe(0)
    expect([jobs, ended]).toEqual([
      [],
      [
        [1, 'done'],
        [2, 'done'],
      ],
    ])
  })

  test('asks once for a token that changed ten times', async () => {
    const { store, ended, add } = memory()
    const marketplace = scripted()
    for (let index = 0; index < 10; index++) add('1')
    expect(await queueOf(store, marketplace).queue.tick()).toBe(1)
    expect(ended).toHaveLength(10)
  })

  test('asks for a token at most once in five minutes, and forgets no change', async () => {
    const { store, jobs, add } = memory()
    const marketplace = scripted()
    const { queue } = queueOf(store, marketplace)
    add('1')
    await queue.tick()
    for (let change = 0; change < 12; change++) {
      add('1')
      await pass(queue, 1)
    }
    await pass(queue, 10)
    expect(marketplace.asked.map(({ at }) => at)).toEqual([0, 5, 10, 15])
    expect(jobs).toEqual([])
  })

  test('remembers that over a restart, where the store does', async () => {
    const { store, jobs, add } = memory()
    const marketplace = scripted()
    add('1', { askedAt: now - 2 * minute })
    const { queue } = queueOf(store, marketplace)
    expect(await queue.tick()).toBe(0)
    expect(jobs[0]?.at).toBe(now + 3 * minute)
    await pass(queue, 3)
    expect(marketplace.asked).toHaveLength(1)
  })

  test('waits for no date that lies ahead: the clock was set back since', async () => {
    const { store, add } = memory()
    const marketplace = scripted()
    const { queue } = queueOf(store, marketplace)
    add('1', { askedAt: now + 365 * 24 * 60 * minute })
    await queue.tick()
    now -= 60 * minute
    add('1')
    await queue.tick()
    expect(marketplace.asked.map(({ at }) => at)).toEqual([0, -60])
  })

  test('takes no more at a time than it is told, and the rest at the next', async () => {
    const { store, jobs, add } = memory()
    const marketplace = scripted()
    const { queue } = queueOf(store, marketplace, { limit: 3 })
    for (let index = 0; index < 5; index++) add(String(index))
    expect([await queue.tick(), await queue.tick(), jobs.length]).toEqual([3, 2, 0])
  })

  test('does not tick twice at once', async () => {
    const { store, add } = memory()
    const marketplace = scripted()
    const { queue } = queueOf(store, marketplace)
    add('1')
    await Promise.all(Array.from({ length: 10 }, () => queue.tick()))
    expect(marketplace.asked).toHaveLength(1)
  })
})

test('done names the time before the marketplace was asked, so that no change on the way is lost', async () => {
  const { store, add } = memory()
  const done = vi.spyOn(store, 'done')
  const refresh = async (): Promise<RefreshResult> => {
    now += 3000
    return { kind: 'done' }
  }
  add('1')
  await queueOf(store, { asked: [], refresh }).queue.tick()
  expect(done).toHaveBeenCalledExactlyOnceWith(1, start)
})

describe('a refresh that fails', () => {
  test('is tried again after 5, 10, 20, 40 minutes, then every hour, and given up after a day', async () => {
    const { store, jobs, ended, add } = memory()
    const marketplace = scripted(...broken(100))
    const { queue } = queueOf(store, marketplace)
    add('1')
    await queue.tick()
    await pass(queue, 26 * 60)
    const times = marketplace.asked.map(({ at }) => at)
    expect(times.slice(0, 8)).toEqual([0, 5, 10, 20, 40, 80, 140, 200])
    expect(times.at(-1)).toBeLessThanOrEqual(24 * 60)
    expect(times.at(-1)).toBeGreaterThan(23 * 60 - 1)
    expect([jobs, ended]).toEqual([[], [[1, 'out of order, for a day']]])
  })

  test('waits as long as the marketplace wants, and all others with it', async () => {
    const { store, add } = memory()
    const wait: RefreshResult = {
      kind: 'retry',
      afterMs: 90 * minute,
      scope: 'all',
      reason: 'OpenSea answered 429',
    }
    const marketplace = scripted(wait)
    const { queue } = queueOf(store, marketplace)
    add('1')
    add('2')
    expect(await queue.tick()).toBe(1)
    await pass(queue, 95)
    expect(marketplace.asked).toEqual([
      { tokenId: '1', at: 0 },
      { tokenId: '1', at: 90 },
      { tokenId: '2', at: 90 },
    ])
  })

  test('holds up no other token, where it is this one that fails', async () => {
    const { store, add } = memory()
    const marketplace = scripted(...broken(1))
    add('1')
    add('2')
    expect(await queueOf(store, marketplace).queue.tick()).toBe(2)
  })

  test('is given up at once when it is refused', async () => {
    const { store, ended, add } = memory()
    const marketplace = scripted({ kind: 'refused', reason: 'no marketplace for chain 31337' })
    add('1')
    await queueOf(store, marketplace).queue.tick()
    expect(ended).toEqual([[1, 'no marketplace for chain 31337']])
  })
})

describe('started', () => {
  test('it works by itself, survives a store that fails, and stops', async () => {
    const { store, ended, add } = memory()
    const due = vi.spyOn(store, 'due').mockRejectedValueOnce(new Error('disk full'))
    const { queue, failed } = queueOf(store, scripted(), { everyMs: 1 })
    add('1')
    queue.start()
    queue.start()
    await expect.poll(() => ended).toEqual([[1, 'done']])
    expect(failed).toHaveBeenCalledExactlyOnceWith(new Error('disk full'))
    await queue.stop()
    const looks = due.mock.calls.length
    await new Promise((resolve) => setImmediate(resolve))
    expect(due.mock.calls.length).toBe(looks)
  })

  test('it stops between two tokens', async () => {
    const { store, jobs, add } = memory()
    let answer: (result: RefreshResult) => void = () => undefined
    const refresh = vi.fn(() => new Promise<RefreshResult>((resolve) => (answer = resolve)))
    const { queue } = queueOf(store, { asked: [], refresh }, { everyMs: 1 })
    add('1')
    add('2')
    queue.start()
    await expect.poll(() => refresh.mock.calls.length).toBe(1)
    const stopped = queue.stop()
    answer({ kind: 'done' })
    await stopped
    expect(refresh).toHaveBeenCalledOnce()
    expect(jobs.map(({ tokenId }) => tokenId)).toEqual(['2'])
  })

  test('with OpenSea and the guarded client, a refresh arrives', async () => {
    const stand = await openOpenSea('key')
    const { request } = createOutbound({ allowPrivate: [stand.url], timeoutMs: 2000, maxBytes: 10_000 })
    const marketplace = createOpenSea({ request, baseUrl: stand.url, apiKey: 'key', clock })
    const { store, ended, add } = memory()
    add('7')
    add('8', { chainId: 31337 })
    const queue = new RefreshQueue({ store, marketplace, clock, failed: vi.fn() })
    expect(await queue.tick()).toBe(2)
    expect(stand.refreshed).toEqual([`ethereum/${contract}/7`])
    expect(ended).toEqual([
      [1, 'done'],
      [2, 'no marketplace for chain 31337'],
    ])
    await stand.close()
  })
})
