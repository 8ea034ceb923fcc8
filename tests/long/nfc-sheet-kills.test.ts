import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Answered } from '../support/admin.ts'
import { adminToken } from '../support/daemon.ts'
import { type Call, Chip, type Ended, inA, nfcSeed, talk } from '../support/nfc.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'

const preload = join(import.meta.dirname, '../support/kill-at-commit.mjs')

/** The writes of one set-up, in their order. */
const writes = {
  'the plan': 'insert into "nfcPlans"',
  'the chip, its row and its tap': 'insert into "nfcSheetRows"',
  'its counter': 'update "?chips"? set "lastCounter"',
  'the end of the plan': 'update "nfcPlans" set "closedAt"',
}

const callTo =
  ({ ready: { url } }: DaemonProcess): Call =>
  async (endpoint, body): Promise<Answered> => {
    const [method = '', path = ''] = endpoint.split(' ')
    const headers = {
      authorization: `Bearer ${adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: JSON.parse(text), text }
  }

test('a daemon that is killed at each of its writes loses no plan and no row, and gives no row twice', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-sheet-kills-'))
  const seed = join(dataDir, 'seed.json')
  writeFileSync(seed, JSON.stringify(nfcSeed))
  const args = [
    '--data-dir',
    dataDir,
    '--port',
    '0',
    '--log-level',
    'error',
    '--seed',
    seed,
    '--base-url',
    'http://127.0.0.1:8484',
  ]
  const start = (sql?: string, when = '') =>
    spawnDaemon(args, {
      TAPCHIP_ADMIN_TOKEN: adminToken,
      ...(sql ? { NODE_OPTIONS: `--import ${preload}`, KILL_SQL: sql, KILL_WHEN: when } : {}),
    })
  const joined = async (call: Call) =>
    (await call('POST /admin/nfc/sheets', { team: 'Acme', id: 'sheet', rows: 16 })).body
  const put = (call: Call, run: number, chip: Chip): Promise<Ended> =>
    talk(
      call,
      chip.put(),
      { ...inA, waitForDetails: true, station: 'desk', sheet: { run } },
      { onInspected: ({ row }) => ({ row, label: `J-${row}` }) },
    )

  const rows = new Map<Chip, number | undefined>()
  try {
    for (const [what, sql] of Object.entries(writes))
      for (const when of ['before', 'after']) {
        const torn = new Chip()
        const killed = await start(sql, when)
        const { run } = await joined(callTo(killed))
        await expect(put(callTo(killed), run, torn), `${when} ${what}`).rejects.toThrow()
        expect(await killed.exited).toBeNull()

        const daemon = await start()
        const call = callTo(daemon)
        expect(await joined(call)).toMatchObject({ run })
        // Another station is faster than the one whose chip was torn.
        for (const chip of [new Chip(), torn]) {
          const ended = await put(call, run, chip)
          expect(ended.status, `${when} ${what}: ${ended.error}`).toMatch(/^(provisioned|unchanged)$/)
          rows.set(chip, ended.row)
        }
        expect((await call('GET /admin/nfc/journal')).body).toEqual([])
        if (rows.size === 16) {
          expect([...rows.values()].sort((a = 0, b = 0) => a - b)).toEqual(
            Array.from({ length: 16 }, (_, at) => at + 1),
          )
          for (const [chip, row] of rows)
            expect((await call(`GET /admin/chips/${chip.uid}`)).body.label).toBe(`J-${row}`)
          expect((await call(`GET /admin/nfc/sheets/${run}`)).body).toMatchObject({
            taken: 16,
            held: 0,
            closedAt: expect.any(String),
          })
        }
        await daemon.stop()
      }
    expect(rows.size).toBe(16)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})
