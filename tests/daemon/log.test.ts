import { expect, test } from 'vitest'
import { createLogger } from '../../src/daemon/process/log.ts'

const logged = (write: (log: ReturnType<typeof createLogger>) => void) => {
  const lines: string[] = []
  write(createLogger('debug', { write: (line) => void lines.push(line) }))
  return lines
}

const long = 'ж'.repeat(900_000)

test.each<[string, (log: ReturnType<typeof createLogger>) => void]>([
  ['an error', (log) => log.error({ err: new Error(long) }, 'failed')],
  [
    'an error with a cause',
    (log) => log.error({ err: new Error('why', { cause: new Error(long) }) }, 'failed'),
  ],
  ['an error alone', (log) => log.error(new Error(long))],
  ['a field', (log) => log.error({ requestId: 'a-1', reason: long }, 'failed')],
  [
    'many fields',
    (log) => log.error(Object.fromEntries(Array.from(long.slice(0, 9000), (_, n) => [n, n])), 'failed'),
  ],
  ['a list', (log) => log.error({ subject: { list: long.split('') } }, 'failed')],
  ['a message', (log) => log.error({ requestId: 'a-1' }, long)],
])('a line is at most 8 kB, whatever is long in it: %s', (_title, write) => {
  const [line = '', ...more] = logged(write)
  expect(more).toEqual([])
  expect(Buffer.byteLength(line)).toBeLessThanOrEqual(8192)
  expect(line.endsWith('\n')).toBe(true)
  const parsed = JSON.parse(line)
  expect(parsed).toMatchObject({ level: 50, pid: process.pid, msg: expect.stringMatching(/^(failed|ж+…?)$/) })
})

test('a cut takes no line apart and leaves short ones alone', () => {
  const [line = ''] = logged((log) => log.info({ chains: { 7: 'ok' }, list: [1, 2] }, 'listening'))
  expect(JSON.parse(line)).toMatchObject({ chains: { 7: 'ok' }, list: [1, 2], msg: 'listening' })
  expect(line).not.toContain('isCut')
})

test('an address that holds a key is not shown, also where it is cut off', () => {
  const url = `https://node.example/v3/${'secret'.repeat(300)}`
  const [line = ''] = logged((log) => log.error({ err: new Error(`no answer from ${url}`) }, 'failed'))
  expect(line).toContain('https://node.example')
  expect(line).not.toContain('secret')
})
