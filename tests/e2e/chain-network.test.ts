import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { spawnDaemon } from '../support/process.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-network-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const script = (name: string, ...lines: string[]): string => {
  const file = join(dir, name)
  writeFileSync(file, ['#!/bin/sh', ...lines, ''].join('\n'))
  chmodSync(file, 0o755)
  return file
}

test.each([
  ['refuses it', ['echo not permitted >&2', 'exit 1'], 'not permitted'],
  ['gives it none, and says that all is well', ['shift 3', 'exec "$@"'], 'no network of its own'],
])(
  'a system that %s does not keep the embedded chain from starting, and the log says so',
  async (_, unshare, why) => {
    const fake = script('unshare', ...unshare)
    const user = process.getuid?.() === 0 ? '' : '--user --map-root-user'
    const node = script(
      'node',
      `exec unshare ${user} --mount sh -c 'mount --bind ${fake} /usr/bin/unshare && exec ${process.execPath} "$@"' node "$@"`,
    )
    const args = ['--data-dir', join(dir, 'data'), '--port', '0', '--log-level', 'warn']
    const daemon = await spawnDaemon(args, {}, { node })
    try {
      const { url, chains } = daemon.ready
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      const asked = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }
      const headers = { 'content-type': 'application/json' }
      const rpc = await fetch(chains['31337'] ?? '', { method: 'POST', headers, body: JSON.stringify(asked) })
      expect(await rpc.json()).toMatchObject({ result: '0x7a69' })
      expect(daemon.log()).toContain(why)
      expect(daemon.log()).toContain('other users of this machine can find its port')
    } finally {
      expect(await daemon.stop()).toBe(0)
    }
  },
)
