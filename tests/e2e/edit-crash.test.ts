import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect } from 'vitest'
import { testOfFile } from '../support/engines.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { acmeKey } from '../support/seeds.ts'

const preload = join(import.meta.dirname, '../support/kill-at-commit.mjs')
const key = 'ffeeddccbbaa99887766554433221100'
const noChain = { TAPCHIP_DEV_CHAIN: 'off' }
const uids = Array.from({ length: 1000 }, (_, at) => (0x04a00000000000n + BigInt(at)).toString())
const seed = {
  version: 1,
  keySets: [{ id: 1, metaReadKey: key, fileReadKey: key, diversification: 'an10922', macInputFrom: 'd' }],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'acme', key: acmeKey }],
      chipGroups: [
        {
          name: 'Stock',
          chips: uids.map((uid) => ({
            uid: BigInt(uid).toString(16).toUpperCase().padStart(14, '0'),
            keySet: 1,
          })),
        },
      ],
    },
  ],
}

const edit = ({ ready: { url } }: DaemonProcess, redirectUrl: string) =>
  fetch(`${url}/chips`, {
    method: 'PATCH',
    headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/json' },
    body: JSON.stringify({ tagUIDs: uids, updates: { redirectUrl } }),
  })

testOfFile.each([
  // A piece is 250 chips at first, and at most twice the one before.
  { at: 1, when: 'before', changed: 0 },
  { at: 1, when: 'after', changed: 250 },
  { at: 2, when: 'before', changed: 250 },
])(
  'an edit killed $when the end of its piece $at has changed whole pieces, and is finished by the same request',
  async ({ at, when, changed }) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-edit-crash-'))
    try {
      const seedFile = join(dataDir, 'seed.json')
      writeFileSync(seedFile, JSON.stringify(seed))
      const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error', '--seed', seedFile]
      const torn = await spawnDaemon(args, {
        ...noChain,
        NODE_OPTIONS: `--import ${preload}`,
        KILL_SQL: 'update "chips" set "redirectUrl"',
        KILL_AT: String(at),
        KILL_WHEN: when,
      })
      await expect(edit(torn, 'https://example.com/new')).rejects.toThrow()
      expect(await torn.exited).toBeNull()

      const rows = () => {
        const db = new BetterSqlite3(join(dataDir, 'tapchip.db'), { readonly: true })
        try {
          const count = db.prepare('select count(*) from chips where "redirectUrl" = ?').pluck()
          const records = db.prepare(`select detail from audit where action = 'chips.edit'`).pluck()
          return { changed: count.get('https://example.com/new'), records: records.all().length }
        } finally {
          db.close()
        }
      }
      const daemon = await spawnDaemon(args, noChain)
      try {
        // What was changed is in the audit log, and nothing else is.
        expect(rows()).toEqual({ changed, records: changed === 0 ? 0 : 1 })
        expect((await edit(daemon, 'https://example.com/new')).status).toBe(200)
        expect(rows().changed).toBe(uids.length)
      } finally {
        await daemon.stop()
      }
    } finally {
      rmSync(dataDir, { recursive: true })
    }
  },
)
