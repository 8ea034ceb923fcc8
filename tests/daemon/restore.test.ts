import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { manifestText } from '../../src/daemon/domain/backup/backup-manifest.ts'
import { restoreBackup } from '../../src/daemon/domain/backup/restore.ts'
import { wrapDataKey } from '../../src/daemon/store/data-dir/data-key.ts'
import { SecretBox } from '../../src/daemon/store/data-dir/secret-box.ts'
import { haloUid } from '../../src/nfc/halo/tap.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { batchesBy } from '../support/batches.ts'
import { testClock } from '../support/daemon.ts'
import { haloChip } from '../support/halo.ts'
import { acmeKey, alice, derived, plain, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const passphrase = 'correct horse'
const clock = testClock()
const halo = haloChip('restored')
const [acme, other] = seed.teams
const withHalo = {
  ...seed,
  teams: [
    {
      ...acme,
      chipGroups: [
        ...(acme?.chipGroups ?? []),
        { name: 'HaLo', chips: [{ family: 'halo', publicKey: halo.pk2 }] },
      ],
    },
    other,
  ],
}

let dir: string
let t: AdminApp
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-restore-'))
  mkdirSync(join(dir, 'old'))
  t = await openAdminApp({ seed: withHalo, clock, dataDir: join(dir, 'old') })
})
afterEach(async () => {
  await t.close()
  rmSync(dir, { recursive: true, force: true })
})

/** With the data key beside it, since a passphrase takes half a second each time. */
const backup = async (): Promise<string> => {
  const { body } = await t.call('POST /admin/backup', {})
  cpSync(join(t.dataDir, 'data.key'), join(body.path, 'data.key'))
  return body.path
}

const underPassphrase = async (): Promise<string> =>
  (await t.call('POST /admin/backup', { passphrase })).body.path

const restore = (from: string, dataDir = join(dir, 'new'), typed?: string) =>
  restoreBackup(clock, { from, dataDir, passphrase: typed, dataKey: undefined })

/** Puts a backup into a directory, and goes on there. */
const goOnFrom = async (from: string, dataDir = join(dir, 'new')) => {
  await t.close()
  const restored = await restore(from, dataDir)
  t = await openAdminApp({ clock, dataDir })
  return restored
}

type Parameters = Record<string, string>
const jacket = (counter: number) => tap(derived, { uid: uids.jacket }, counter)
const blank = (counter: number) => tap(derived, { uid: uids.blank }, counter)

const find = async (parameters: Parameters) =>
  (await t.call(`GET ${tapPath(parameters, '/chips/find')}`)).body
const open = (parameters: Parameters, headers: Record<string, string> = {}) =>
  t.app.inject({ url: tapPath(parameters), headers })

const urlOf = ({ d, e, c }: Parameters) => ({ d, e, c }) as Parameters

const outcomes = async (uid: string): Promise<string[]> => {
  await t.ctx.tapLog.flush()
  const { body } = await t.call(`GET /admin/taps?uid=${uid}`)
  return body.map(({ outcome }: { outcome: string }) => outcome)
}

describe('after a restore, the first tap of a chip', () => {
  test('only catches its counter up, of ten at once too; the next is valid, once', async () => {
    expect((await find(jacket(5))).isValidTap).toBe(true)
    const path = await backup()
    const seen = jacket(6)
    expect((await find(seen)).isValidTap).toBe(true)
    await goOnFrom(path)

    expect((await find(jacket(5))).isValidTap).toBe(false)
    const answers = await Promise.all(Array.from({ length: 10 }, () => find(seen)))
    for (const answer of answers) expect(answer).toMatchObject({ isValidTap: false, linkedToken: {} })
    expect(answers.filter((answer) => 'otp' in answer && answer.otp)).toEqual([])
    const kinds = (await outcomes(uids.jacket)).slice(0, 11)
    expect(kinds.filter((kind) => kind === 'caught-up')).toHaveLength(1)
    expect(kinds.filter((kind) => kind === 'replayed')).toHaveLength(10)

    const next = jacket(7)
    const valid = await Promise.all(Array.from({ length: 10 }, () => find(next)))
    expect(valid.filter((answer) => answer.isValidTap)).toHaveLength(1)
    expect((await find(jacket(8))).isValidTap).toBe(true)
  })

  test('gets a page that asks for another one, without a ref or a redirect, and a HEAD uses nothing up', async () => {
    await goOnFrom(await backup())
    for (const at of [jacket, blank]) {
      const first = at(3)
      expect((await t.app.inject({ method: 'HEAD', url: tapPath(first) })).statusCode).toBe(410)
      const page = await open(first)
      expect(page.statusCode).toBe(410)
      expect(page.body).toContain('Please hold your phone to the chip again')
      expect(page.body).not.toContain('data-ref')
      expect(page.headers['set-cookie']).toBeUndefined()
      expect((await open(first)).body).toContain('This tap was used before')
    }
    expect((await open(jacket(4))).statusCode).toBe(302)
    expect((await open(blank(4))).statusCode).toBe(200)
  })

  test('of every kind of chip only catches up: HaLo, simulated, never tapped', async () => {
    const simulated = '04112233445566'
    await register(simulated, '&simulated=true')
    const simulate = async () =>
      (await t.call(`POST /admin/chips/${simulated}/simulate`, { count: 1 })).body[0]
    await simulate()
    const path = await backup()
    const used = halo.tap()
    expect((await find(used)).isValidTap).toBe(true)
    const given = await simulate()
    await goOnFrom(path)
    expect((await find(urlOf(given))).isValidTap).toBe(false)
    await simulate()
    expect((await find(urlOf(await simulate()))).isValidTap).toBe(true)
    expect((await find(used)).isValidTap).toBe(false)
    expect(await outcomes(haloUid(Buffer.from(halo.pk2, 'hex')))).toEqual(['caught-up'])
    expect((await find(halo.tap())).isValidTap).toBe(true)
    const never = { uid: uids.plain }
    expect((await find(tap(plain, never, 1))).isValidTap).toBe(false)
    expect((await find(tap(plain, never, 2))).isValidTap).toBe(true)
  })

  test('of a disabled chip catches up as well', async () => {
    const path = await backup()
    await goOnFrom(path)
    await t.call(`POST /admin/chips/${uids.blank}/disable`, {})
    expect((await find(blank(1))).isValidTap).toBe(false)
    await t.call(`POST /admin/chips/${uids.blank}/enable`, {})
    expect((await outcomes(uids.blank))[0]).toBe('disabled')
    expect((await find(blank(2))).isValidTap).toBe(true)
  })

  test('also catches up where the chip was removed at the backup, and is registered again', async () => {
    await find(tap(plain, { uid: uids.plain }, 5))
    await t.call(`DELETE /admin/chips/${uids.plain}`)
    await goOnFrom(await backup())
    await register(uids.plain)
    const found = async (counter: number) => (await find(tap(plain, { uid: uids.plain }, counter))).isValidTap
    expect([await found(5), await found(6), await found(7)]).toEqual([false, false, true])
  })

  test('is valid as ever for a chip that is registered after it', async () => {
    await goOnFrom(await backup())
    await register('04112233445580')
    expect((await find(tap(plain, { uid: '04112233445580' }, 1))).isValidTap).toBe(true)
  })
})

const register = async (uid: string, more = '') => {
  const { statusCode, body } = await t.app.inject({
    method: 'POST',
    url: `/admin/chips/import?team=Acme&chipGroup=Prints&keySet=102${more}`,
    headers: { ...t.admin, 'content-type': 'application/x-ndjson' },
    payload: `{"uid":"${uid}"}\n`,
  })
  expect([statusCode, body]).toEqual([200, expect.stringContaining('"created"')])
}

test('what was open at the backup is ended: refs, codes, pages, and registrations', async () => {
  const page = await open(blank(1))
  const cookie = String(page.headers['set-cookie']).split(';')[0] ?? ''
  const refOf = (body: string) => /data-ref="([^"]+)"/.exec(body)?.[1] ?? ''
  const unqueried = refOf(page.body)
  const queried = refOf((await open(tap(derived, { uid: uids.events }, 1))).body)
  const codes = (await t.call(`GET /refs/${queried}`)).body
  const code = codes.guestbookEvents[0].otp
  const claim = (await find(jacket(1))).otp.code
  const registered = await t.call(
    'POST /phygitals/claim-registration',
    { contractAddress: await contractOf(), chainId: 31337, tokenId: '1', recipient: alice },
    { 'x-svc-api-key': acmeKey },
  )
  const path = await backup()
  expect(registered.status).toBeLessThan(300)
  expect((await t.call(`GET /otps/${code}`)).body.isExpired).toBe(false)
  await goOnFrom(path)

  expect((await t.call(`GET /refs/${unqueried}`)).body.isValidRef).toBe(false)
  expect((await t.call(`GET /otps/${code}`)).body.isExpired).toBe(true)
  expect((await t.call(`GET /otps/${claim}`)).body.isExpired).toBe(true)
  expect((await open(blank(1), { cookie })).statusCode).toBe(410)
  const { db } = t.ctx
  expect(await db.read.selectFrom('claimRegistrations').selectAll().execute()).toEqual([])
})

const contractOf = async () => (await t.call('GET /admin/contracts?team=Acme')).body[0].address

test('a restore is in the audit log, with what it ended', async () => {
  const path = await backup()
  const { chips, madeAt } = await goOnFrom(path)
  expect(chips).toBe(9)
  expect(madeAt).toBe(new Date(clock.now()).toISOString())
  const [record] = await t.audit()
  expect(record).toMatchObject({
    action: 'daemon.restore',
    actor: 'daemon',
    target: path,
    detail: { madeAt, chips },
  })
  expect(JSON.parse((await t.call('GET /admin/audit/verify')).text)).toMatchObject({ ok: true })
})

test('a batch that ran, or was to start, at the backup waits for whoever resumes it', async () => {
  const begun = async (more: object) => {
    const batches = batchesBy(t)
    const id = await batches.uploaded(
      'chips edit',
      [{ row: 1, uid: uids.jacket, redirectUrl: 'https://a.example/' }],
      more,
    )
    await batches.plan(id)
    expect((await batches.call('POST', `/${id}/start`)).status).toBe(200)
    return id
  }
  const [running, scheduled] = [
    await begun({}),
    await begun({ at: new Date(clock.now() + 3_600_000).toISOString() }),
  ]
  const path = await backup()
  await goOnFrom(path)
  for (const id of [running, scheduled])
    expect(await batchesBy(t).show(id)).toMatchObject({
      state: 'paused',
      error: expect.stringContaining('A backup was restored'),
    })
})

describe('into a directory that has data, a restore', () => {
  test('keeps the old data aside, and leaves the backups, the token, and files of others', async () => {
    const path = await backup()
    const group = { name: 'made since', team: 'Acme' }
    await t.call('POST /admin/chip-groups', group)
    const own = join(dir, 'old')
    writeFileSync(join(own, 'admin.token'), 'kept')
    writeFileSync(join(own, 'notes.txt'), 'mine')
    const { keptAside } = await goOnFrom(path, own)
    const names = async () =>
      (await t.call('GET /admin/chip-groups?team=Acme')).body.map(({ name }: { name: string }) => name)
    expect(await names()).not.toContain(group.name)
    expect(readFileSync(join(own, 'admin.token'), 'utf8')).toBe('kept')
    expect(readFileSync(join(own, 'notes.txt'), 'utf8')).toBe('mine')
    expect(existsSync(path)).toBe(true)
    const aside = keptAside ?? ''
    expect(statSync(aside).mode & 0o777).toBe(0o700)
    const old = new BetterSqlite3(join(aside, 'tapchip.db'), { readonly: true })
    expect(old.prepare(`select count(*) from "chipGroups" where name = ?`).pluck().get(group.name)).toBe(1)
    old.close()
    expect(readdirSync(aside)).toContain('data.key')
  })

  test('of a running daemon is refused', async () => {
    const path = await backup()
    await expect(restore(path, join(dir, 'old'))).rejects.toThrow(/A daemon runs on .*tapchip daemon stop/)
    expect((await t.call('GET /readyz')).status).toBe(200)
  })

  test('takes the data key from under the passphrase', async () => {
    const path = await underPassphrase()
    const key = readFileSync(join(dir, 'old', 'data.key'), 'utf8')
    await t.close()
    await restore(path, join(dir, 'new'), passphrase)
    expect(readFileSync(join(dir, 'new', 'data.key'), 'utf8')).toBe(key)
    expect(statSync(join(dir, 'new', 'data.key')).mode & 0o777).toBe(0o600)
    t = await openAdminApp({ clock, dataDir: join(dir, 'new') })
  })

  test('takes the database in the folder for the folder, and no other file', async () => {
    const path = await backup()
    const own = join(dir, 'old')
    await t.close()
    await expect(restore(join(own, 'data.key'), own)).rejects.toThrow('data.key is not a backup')
    await restore(join(path, 'tapchip.db'), own)
    t = await openAdminApp({ clock, dataDir: own })
    expect((await find(blank(1))).uid).toBeDefined()
  })

  test('takes the data key that is there, and needs no passphrase then', async () => {
    const { body } = await t.call('POST /admin/backup', {})
    await t.close()
    await restore(body.path, join(dir, 'old'))
    t = await openAdminApp({ clock, dataDir: join(dir, 'old') })
    expect((await find(blank(1))).uid).toBeDefined()
  })
})

let wrapped = ''
beforeAll(async () => {
  wrapped = await wrapDataKey(Buffer.alloc(32, 7), passphrase)
})

describe('a backup that is not whole', () => {
  const digest = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'daemon.lock')
      .map((entry) => {
        const path = join(entry.parentPath, entry.name)
        return `${path} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`
      })
      .sort()

  const changed = (from: string, change: (copy: string) => void): string => {
    const copy = join(dir, 'copy')
    rmSync(copy, { recursive: true, force: true })
    cpSync(from, copy, { recursive: true })
    change(copy)
    return copy
  }
  const flip = (file: string) => {
    const bytes = readFileSync(file)
    bytes[bytes.length - 9] = (bytes.at(-9) ?? 0) ^ 1
    writeFileSync(file, bytes)
  }
  const withoutManifest = (copy: string) => rmSync(join(copy, 'backup.json'))
  const edited = (copy: string, edit: (manifest: Record<string, unknown>) => unknown) => {
    const file = join(copy, 'backup.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8'))
    edit(manifest)
    writeFileSync(file, JSON.stringify(manifest))
  }
  /** As the daemon that made it would, of whatever is there now. */
  const signed = (copy: string) =>
    edited(copy, (manifest) => {
      const key = Buffer.from(readFileSync(join(copy, 'data.key'), 'utf8').trim(), 'hex')
      const hash = createHash('sha256')
        .update(readFileSync(join(copy, 'tapchip.db')))
        .digest('hex')
      const { madeAt, schema, auditHead } = manifest as { madeAt: string; schema: string; auditHead: string }
      const about = { madeAt, schema, auditHead, files: { 'tapchip.db': hash } }
      Object.assign(manifest, JSON.parse(manifestText(new SecretBox(key), about)))
    })

  const withWrappedKey = (copy: string) => {
    rmSync(join(copy, 'data.key'))
    writeFileSync(join(copy, 'data.key.enc'), wrapped)
  }

  const cases: [string, (copy: string) => void, string | undefined, RegExp][] = [
    ['the passphrase is wrong', withWrappedKey, 'wrong', /passphrase is not the one.*Nothing was changed/],
    ['the passphrase is missing', withWrappedKey, undefined, /--passphrase-file.*Nothing was changed/],
    [
      'a byte of the backup has changed',
      (copy) => flip(join(copy, 'tapchip.db')),
      undefined,
      /damaged: tapchip\.db has changed/,
    ],
    [
      'a link is among its images',
      (copy) => {
        mkdirSync(join(copy, 'badge-images'), { recursive: true })
        symlinkSync('/etc/passwd', join(copy, 'badge-images', 'x.png'))
      },
      undefined,
      /damaged: badge-images\/x\.png is a link/,
    ],
    [
      'the backup is cut off',
      (copy) => {
        truncateSync(join(copy, 'tapchip.db'), 20_000)
        signed(copy)
      },
      undefined,
      /is damaged: .*Use another one/,
    ],
    [
      'it is no database',
      (copy) => {
        writeFileSync(join(copy, 'tapchip.db'), 'nonsense')
        signed(copy)
      },
      undefined,
      /is damaged: its database cannot be read/,
    ],
    [
      'a newer version made it',
      (copy) => {
        const db = new BetterSqlite3(join(copy, 'tapchip.db'))
        db.exec(`insert into kysely_migration values ('9999-later', '2030-01-01T00:00:00.000Z')`)
        db.close()
        signed(copy)
      },
      undefined,
      /made by a newer version of Tapchip/,
    ],
    [
      'the backup has no data key',
      (copy) => rmSync(join(copy, 'data.key')),
      undefined,
      /does not contain the data key.*Put your copy of data\.key/,
    ],
    [
      'the data key is another one',
      (copy) => writeFileSync(join(copy, 'data.key'), '00'.repeat(32)),
      undefined,
      /not the one that this backup was made with/,
    ],
    [
      'it has no manifest',
      withoutManifest,
      undefined,
      /has no backup\.json, which proves that nobody has changed/,
    ],
    [
      'its manifest says another time',
      (copy) => edited(copy, (manifest) => Object.assign(manifest, { madeAt: '2026-05-01T12:00:00.000Z' })),
      undefined,
      /damaged: its backup\.json was changed since it was made/,
    ],
    [
      'its manifest was changed together with the database',
      (copy) => {
        flip(join(copy, 'tapchip.db'))
        const hash = createHash('sha256')
          .update(readFileSync(join(copy, 'tapchip.db')))
          .digest('hex')
        edited(copy, (manifest) => Object.assign(manifest, { files: { 'tapchip.db': hash } }))
      },
      undefined,
      /damaged: its backup\.json was changed since it was made/,
    ],
    ...(
      [
        ['a time that is none', { madeAt: '* * * * * root id\n' }],
        ['a path that leads out', { files: { '../../etc/cron.d/x': '0'.repeat(64) } }],
        ['no authentication', { mac: undefined }],
      ] as const
    ).map(([what, fields]): (typeof cases)[number] => [
      `its manifest has ${what}`,
      (copy) => edited(copy, (manifest) => Object.assign(manifest, fields)),
      undefined,
      /damaged: its backup\.json cannot be read\. If it was made by an earlier version .* restore it with that version/,
    ]),
    ...(['tapchip.db', 'backup.json', 'extra'] as const).map((name): (typeof cases)[number] => [
      `a pipe stands for ${name}`,
      (copy) => {
        rmSync(join(copy, name), { force: true })
        execFileSync('mkfifo', [join(copy, name)])
      },
      undefined,
      new RegExp(`damaged: ${name.replace('.', '\\.')} is a pipe or a device`),
    ]),
    [
      'its database is a link',
      (copy) => {
        renameSync(join(copy, 'tapchip.db'), join(dir, 'elsewhere.db'))
        symlinkSync(join(dir, 'elsewhere.db'), join(copy, 'tapchip.db'))
      },
      undefined,
      /damaged: tapchip\.db is a link/,
    ],
    [
      'it is a folder of something else',
      (copy) => rmSync(join(copy, 'tapchip.db')),
      undefined,
      /is not a backup/,
    ],
    [
      'it is a data directory',
      (copy) => writeFileSync(join(copy, 'tapchip.db-wal'), 'x'),
      undefined,
      /data of a daemon, and not a backup/,
    ],
  ]
  test('is not restored, nothing changes, and a new directory is not left behind', async () => {
    const path = await backup()
    await t.close()
    const own = join(dir, 'old')
    const before = digest(own)
    for (const [what, change, typed, message] of cases) {
      const copy = changed(path, change)
      await expect(restore(copy, join(dir, 'new', 'deep'), typed), what).rejects.toThrow(message)
      expect(existsSync(join(dir, 'new', 'deep')), what).toBe(false)
      // There, the key is known without a passphrase.
      if (!/passphrase is missing|no data key/.test(what))
        await expect(restore(copy, own, typed), what).rejects.toThrow(message)
      expect(digest(own), what).toEqual(before)
    }
    t = await openAdminApp({ clock, dataDir: own })
  })
})
