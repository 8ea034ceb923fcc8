import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const project = fileURLToPath(new URL('../..', import.meta.url))

let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'start-time-'))
})
afterEach(() => rmSync(place, { recursive: true }))

test('a command loads no part of Node that it does not need', async () => {
  const server = createServer(
    (_, answer) => void answer.setHeader('content-type', 'application/json').end('[]'),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const list = join(place, 'modules')
  const hook = join(place, 'hook.cjs')
  writeFileSync(
    hook,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(list)}, process.moduleLoadList.join('\\n')))`,
  )
  const args = ['--require', hook, join(project, 'bin/tapchip.js'), 'chip-groups', 'list', '--json']
  const child = spawn(process.execPath, args, {
    env: { HOME: place, TAPCHIP_URL: `http://127.0.0.1:${address.port}`, TAPCHIP_API_KEY: 'svc_x' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const output = child.stdout.setEncoding('utf8').toArray()
  expect(await once(child, 'exit')).toEqual([0, null])
  server.close()
  expect((await output).join('')).toBe('[]\n')
  const loaded = readFileSync(list, 'utf8').split('\n')
  expect(loaded).toContain('NativeModule http')
  expect(loaded).not.toContain('NativeModule crypto')
  expect(loaded).not.toContain('NativeModule child_process')
})

test('the bundle is ASCII: one other character doubles what V8 keeps of it, and the time to read it', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII includes them.
  expect(/[^\x00-\x7f]/.exec(readFileSync(join(project, 'dist/tapchip.cjs'), 'latin1'))).toBeNull()
})
