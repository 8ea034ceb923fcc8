import { expect, test } from 'vitest'
import { hostileRequests, isRunning, sendAtOnce, startSmallDaemon } from '../support/hostile.ts'

// What it does to taps meanwhile is measured by the bench: here the sender takes most of the machine.
test('half a gigabyte of heap is enough for the worst that one key can send, four times at once', async () => {
  const daemon = await startSmallDaemon()
  const children = daemon.children()
  for (const request of hostileRequests(60)) {
    const { statuses } = await sendAtOnce(daemon.ready.url, request, 4)
    expect({ name: request.name, statuses }).toEqual({ name: request.name, statuses: [request.status] })
    expect((await fetch(`${daemon.ready.url}/readyz`)).status).toBe(200)
  }
  expect(await daemon.stop()).toBe(0)
  expect(children.filter(isRunning)).toEqual([])
}, 900_000)
