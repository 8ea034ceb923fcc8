import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { seedOf, startEdit, toldOf, untilItRests } from '../support/batch-crashes.ts'
import { adminToken } from '../support/daemon.ts'
import { testOfFile } from '../support/engines.ts'
import { callOn } from '../support/fleet.ts'
import { spawnDaemon } from '../support/process.ts'

const preload = join(import.meta.dirname, '../support/kill-at-commit.mjs')
const env = { TAPCHIP_DEV_CHAIN: 'off', TAPCHIP_ADMIN_TOKEN: adminToken }
const chips = 1200
const ofResults = 'update "batchPieces" set "results"'

testOfFile.each([
  { what: 'its first rows', sql: ofResults, at: 1, when: 'before' },
  { what: 'its first rows', sql: ofResults, at: 1, when: 'after' },
  { what: 'rows in the middle', sql: ofResults, at: 4, when: 'before' },
  { what: 'rows in the middle', sql: ofResults, at: 4, when: 'after' },
  { what: 'its last rows', sql: 'update "batches" .*"endedAt" = ', at: 1, when: 'before' },
  { what: 'its last rows', sql: 'update "batches" .*"endedAt" = ', at: 1, when: 'after' },
])('a daemon killed $when the commit of $what goes on with the next start: each row once', async (kill) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-batch-crash-'))
  try {
    const seed = join(dataDir, 'seed.json')
    writeFileSync(seed, JSON.stringify(seedOf(chips)))
    const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error']
    const torn = await spawnDaemon([...args, '--seed', seed], {
      ...env,
      NODE_OPTIONS: `--import ${preload}`,
      KILL_SQL: kill.sql,
      KILL_AT: String(kill.at),
      KILL_WHEN: kill.when,
    })
    const id = await startEdit(torn.ready.url, chips)
    // It may be killed before it answers.
    await callOn(torn.ready.url)(`POST /admin/batches/${id}/start`).catch(() => undefined)
    expect(await torn.exited).toBeNull()
    const next = await spawnDaemon(args, env)
    try {
      const call = callOn(next.ready.url)
      expect(await untilItRests(call, id)).toMatchObject({ state: 'done', done: chips, changed: chips })
      expect(await toldOf(call, id)).toEqual({
        rows: Array.from({ length: chips }, (_, n) => n + 1),
        statuses: ['changed'],
        recorded: chips,
        ends: 1,
      })
    } finally {
      await next.stop()
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})
