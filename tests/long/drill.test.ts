import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

test('a burned machine is replaced by the commands of docs/restore.md alone, and nothing is done twice', async () => {
  const script = join(import.meta.dirname, '../../scripts/drill.mjs')
  const child = spawn(process.execPath, [script, '--chips', '300'])
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)))
  const [code] = await once(child, 'close')
  expect(said).not.toContain('FAILED')
  expect([code, said]).toEqual([0, expect.stringMatching(/the machine is replaced in \d/)])
}, 900_000)
