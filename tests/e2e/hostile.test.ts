import { expect, test } from 'vitest'
import { hostileRequests, isRunning, sendAtOnce, startSmallDaemon } from '../support/hostile.ts'

// The long suite sends them at their full size.
test('a daemon with little memory survives what one key can send, four times at once, and leaves no chain behind', async () => {
  const daemon = await startSmallDaemon()
  const children = daemon.children()
  expect(children.length).toBeGreaterThan(0)
  for (const request of hostileRequests(1)) {
    const { statuses, bytes } = await sendAtOnce(daemon.ready.url, request, 4)
    expect({ name: request.name, statuses }).toEqual({ name: request.name, statuses: [request.status] })
    if (request.status !== 200) expect(bytes).toBeLessThan(30_000)
  }
  expect((await fetch(`${daemon.ready.url}/readyz`)).status).toBe(200)
  expect(await daemon.stop()).toBe(0)
  expect(children.filter(isRunning)).toEqual([])
}, 120_000)
