import { afterEach, expect, test } from 'vitest'
import { errorLog } from '../../src/daemon/http/error-log.ts'
import { createLogger } from '../../src/daemon/process/log.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { acmeKey, seed } from '../support/seeds.ts'

let app: TestApp | undefined
afterEach(async () => {
  await app?.close()
  app = undefined
})

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

test.each(levels)('at level %s, the id in an error answer is found in the log', async (logLevel) => {
  const lines: string[] = []
  app = await openTestApp({ seed, logLevel, log: (line) => lines.push(line) })
  const asked = await Promise.all([
    app.app.inject({ url: '/refs/a-ref-that-nobody-made' }),
    app.app.inject({ url: '/nowhere?secret=hunter2' }),
    app.app.inject({ url: '/chips', headers: { 'x-svc-api-key': 'svc_wrong-key' } }),
    app.app.inject({ method: 'PATCH', url: '/chips', headers: { 'x-svc-api-key': acmeKey }, payload: '{' }),
    app.app.inject({ url: '/%' }),
  ])
  for (const answer of asked) {
    const { requestId, statusCode, code } = answer.json()
    expect(
      lines.map((line) => JSON.parse(line)).filter((line) => line.requestId === requestId),
    ).toContainEqual(
      expect.objectContaining({
        msg: 'request refused',
        status: statusCode,
        code,
        method: expect.any(String),
      }),
    )
  }
  const all = lines.join('')
  for (const secret of ['hunter2', 'a-ref-that-nobody-made', 'svc_wrong-key', acmeKey])
    expect(all).not.toContain(secret)
})

test('a crowd of refused requests takes a bounded number of lines, and their number is told', () => {
  const lines: string[] = []
  const clock = testClock()
  const log = errorLog(createLogger('error', { write: (line) => void lines.push(line) }), clock)
  const request = { id: 'x-1', method: 'GET', routeOptions: { url: '/t' }, caller: null }
  const refuse = () =>
    log(request as never, new Error('no'), {
      isOurs: false,
      body: { statusCode: 404, error: '', message: '', code: 'not_found', requestId: 'x-1' },
    })
  for (let n = 0; n < 5000; n += 1) refuse()
  expect(lines).toHaveLength(1200)
  clock.advance('1s')
  refuse()
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ unlisted: 3800, requestId: 'x-1' })
})
