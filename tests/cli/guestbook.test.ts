import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { type CliHome, cliHome, ends } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { guestbookSeed, metadata, seeded } from '../support/guestbook.ts'
import { bob } from '../support/phygitals.ts'
import { acmeKey, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ chain: true, seed: guestbookSeed })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_API_KEY: acmeKey })
})
afterEach(() => here.remove())

const run = (...args: string[]) => here.run('guestbook', ...args)
const json = async (...args: string[]) => {
  const ran = await run(...args, '--json')
  expect([ran.code, ran.stderr]).toEqual([
    0,
    expect.stringMatching(/^(At http:\S+ \(TAPCHIP_URL\)(, team Acme)?\n)?$/),
  ])
  return ran.json() as Record<string, unknown>
}
const sent = { success: true, txnHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) }
const write = (name: string, content: string): string => {
  writeFileSync(join(here.home, name), content)
  return name
}

const settle = async () => {
  const { chains, db } = daemon.ctx
  const open = await db.read.selectFrom('transactions').select('id').where('settledAt', 'is', null).execute()
  await Promise.all(open.map(({ id }) => chains.relayer.settled(id)))
}
const guestbook = async () => {
  const query = daemon.ctx.db.read.selectFrom('contracts').selectAll().where('symbol', '=', 'GB')
  return query.executeTakeFirstOrThrow()
}
const balance = async (tokenId: bigint) => {
  await settle()
  return daemon.ctx.chains.get(31337).client.readContract({
    abi: guestbookAbi,
    address: getAddress((await guestbook()).address),
    functionName: 'balanceOf',
    args: [bob, tokenId],
  })
}
const assigned = async (eventId: number) =>
  (
    await daemon.ctx.db.read
      .selectFrom('guestbookAssignments')
      .select('chipUid')
      .where('guestbookEventId', '=', eventId)
      .execute()
  ).length

describe('a guestbook', () => {
  test('is deployed, listed, given an event, and minted on', async () => {
    const { contractId } = await json('deploy', '--symbol', 'CLI', '--name', 'By hand', '--chain-id', '31337')
    await settle()
    const contracts = await json('contracts')
    expect(contracts).toContainEqual(
      expect.objectContaining({ id: contractId, symbol: 'CLI', status: 'confirmed' }),
    )
    const file = write('event.json', metadata('Night'))
    const event = ['--contract', 'CLI', '--name', 'Night', '--token-id', '1', '--file', file]
    const { id } = await json('create', ...event)
    expect(await json('list', '--contract', String(contractId))).toMatchObject([
      { id, name: 'Night', contract: { id: contractId, tokenId: '1' } },
    ])
    expect(await json('mint', String(id), '--recipient', 'bob.eth')).toEqual(sent)
    ends(await run('create', ...event), 1, 'already has an event with the token ID 1')
    ends(
      await run('deploy', '--symbol', 'CLI', '--name', 'x', '--chain-id', '31337'),
      1,
      'already has a contract with the symbol CLI',
    )
  })

  test('tells people what is there and what comes next', async () => {
    const listed = await run('list')
    expect(listed.stdout).toContain('Opening')
    const minted = await run('mint', '--contract', 'GB', '--token-id', '2', '--recipient', bob)
    expect(minted.stdout).toMatch(/Transaction: *0x/)
    expect(minted.stderr).toContain('tapchip transactions show 0x')
    expect((await run('list', '--contract', 'FAR')).stdout).toContain('Far')
  })

  test('is named by its id, its symbol or its address; any other name is refused', async () => {
    const { id, address } = await guestbook()
    for (const named of [String(id), 'GB', address.toLowerCase()])
      expect(await json('list', '--contract', named)).toHaveLength(2)
    ends(await run('list', '--contract', 'JKT'), 2, 'There is no guestbook contract "JKT"')
    ends(await run('pause', 'NOPE'), 2, 'tapchip guestbook contracts')
  })
})

describe('a mint', () => {
  test('with its own key has its effect once', async () => {
    const before = await balance(1n)
    const args = ['mint', '1', '--recipient', bob, '--idempotency-key', 'guest-1']
    expect(await json(...args)).toEqual(await json(...args))
    expect(await balance(1n)).toBe(before + 1n)
  })

  test('by the code of a tap needs no API key, and no event', async () => {
    const page = await fetch(daemon.url + tapPath(tap(derived, { uid: seeded.assigned(1) }, 1)))
    const ref = /data-ref="([^"]+)"/.exec(await page.text())?.[1] ?? ''
    const shown = (await here.run('refs', 'show', ref, '--json')).json() as {
      guestbookEvents: { otp: string }[]
    }
    const code = shown.guestbookEvents[0]?.otp ?? ''
    delete here.env.TAPCHIP_API_KEY
    ends(await run('mint', '1', '--code', code, '--recipient', bob), 2, '--code already says which event')
    ends(await run('mint', '1', '--recipient', bob), 4, 'TAPCHIP_API_KEY')
    ends(await run('mint', '--code', code, '--recipient', 'nobody.eth'), 2, 'nobody.eth')
    expect(await json('mint', '--code', code, '--recipient', bob)).toEqual(sent)
    ends(await run('mint', '--code', code, '--recipient', bob), 4, 'already been used')
  })

  test.each([
    [['mint', '--recipient', bob], 'Specify which event'],
    [['mint', 'x', '--recipient', bob], 'a number, not "x"'],
    [['mint', '1', '--token-id', '1', '--recipient', bob], 'in one way'],
    [['mint', '--token-id', '1', '--recipient', bob], '--contract is missing'],
    [['mint', '1'], '--recipient is missing'],
  ])('%j is refused before anything is sent', async (args, why) => {
    ends(await run(...args), 2, why)
  })

  test('of an event that is nowhere says so', async () => {
    ends(await run('mint', '999', '--recipient', bob), 1, 'No such guestbook event')
  })
})

describe('metadata', () => {
  test('is replaced from a file or as it is typed, with a new label', async () => {
    const file = write('new.json', metadata('New'))
    expect(await json('metadata', '2', '--file', file)).toEqual({ success: true })
    const inline = [
      '--contract',
      'GB',
      '--token-id',
      '2',
      '--metadata',
      metadata('Typed'),
      '--name',
      'Ending',
    ]
    expect(await json('metadata', ...inline)).toEqual({ success: true })
    const { address } = await guestbook()
    const shown = await fetch(`${daemon.url}/metadata/31337/${address}/2`)
    expect(await shown.json()).toMatchObject({ name: 'Typed', kept: { as: 'it is' } })
    expect(await json('list', '--contract', 'GB')).toContainEqual(expect.objectContaining({ name: 'Ending' }))
  })

  test('that does not fit names the field, and writes nothing', async () => {
    ends(await run('metadata', '2', '--metadata', '{"name":"x"}'), 2, 'metadata.collection: Required')
    ends(await run('metadata', '2', '--metadata', 'x'), 2, '--metadata is not JSON')
    ends(await run('metadata', '2', '--metadata', '{}', '--file', 'x'), 2, 'not both')
  })
})

describe('assigning', () => {
  test('takes UIDs, a file or a group, and all of them or none', async () => {
    const uids = [seeded.blank(1), `04:A0:00:00:00:66:80`]
    expect(await json('assign', '2', ...uids)).toEqual({ success: true })
    expect(await assigned(2)).toBe(2)
    const file = write('doors.csv', `Tag,Where\n${seeded.blank(3)},front\n${seeded.blank(4)},back\n`)
    expect((await run('assign', '2', '--file', file, '--map', 'uid=Tag', '--ignore-columns')).code).toBe(0)
    expect(await assigned(2)).toBe(4)
    const unknown = await run('assign', '2', seeded.blank(5), '04827F12647380')
    ends(unknown, 1, 'your team does not have: ')
    expect(unknown.stderr).toContain('(04:82:7F:12:64:73:80)')
    expect(await assigned(2)).toBe(4)
    const all = await run('assign', '2', '--chip-group', 'Doors', '--json')
    expect([all.code, all.stderr]).toEqual([
      0,
      expect.stringContaining('15 assigned, 4 unchanged, 0 failed.'),
    ])
    const taken = await run('unassign', '2', '--chip-group', 'Doors')
    expect([taken.code, await assigned(2)]).toEqual([0, 0])
    const id = /b_[0-9a-z]{14}/.exec(taken.stderr)?.[0] ?? ''
    expect((await here.run('batch', 'undo', id, '--yes')).code).toBe(0)
    expect(await json('assign', '2', ...uids)).toEqual({ success: true, assigned: 0, unchanged: uids.length })
    expect(await assigned(2)).toBe(19)
  })

  test('refuses a file whole where a row is invalid', async () => {
    const file = write('bad.csv', `uid\n${seeded.blank(5)}\nnonsense\n${seeded.blank(5)}\n`)
    const ran = await run('assign', '1', '--file', file)
    ends(ran, 2, 'row 2, uid: "nonsense"')
    expect(ran.stderr).toContain('already in row 1')
    ends(await run('assign', '1'), 2, 'Specify which chips')
    ends(await run('assign', '1', seeded.blank(5), '--file', file), 2, 'in one way')
    ends(await run('assign', '1', 'nonsense'), 2, '"nonsense"')
  })
})

describe('pause and unpause', () => {
  test('set what the chain says', async () => {
    const paused = async () => {
      await settle()
      return daemon.ctx.chains.get(31337).client.readContract({
        abi: guestbookAbi,
        address: getAddress((await guestbook()).address),
        functionName: 'paused',
      })
    }
    expect(await json('pause', 'GB')).toEqual(sent)
    expect(await paused()).toBe(true)
    expect(await json('pause', 'GB')).toEqual(sent)
    expect((await run('unpause', 'GB')).stdout).toMatch(/Paused: *no/)
    expect(await paused()).toBe(false)
  })

  test('a dry run shows the request, and sends nothing', async () => {
    const { id } = await guestbook()
    const ran = await run('pause', 'GB', '--dry-run')
    expect(ran.stdout).toContain(`/events/toggle-pause-state {"contractId":${id},"pauseState":true}`)
  })
})

describe('mint --file', () => {
  const guests = `recipient\n${bob}\nbob.eth\nnobody.eth\n`

  test('mints to each guest of a sheet, in one batch of the daemon', async () => {
    const file = write('guests.csv', guests)
    const looked = await run('mint', '2', '--file', file, '--dry-run')
    expect(looked.code).toBe(3)
    expect(looked.stderr).toContain('Chain 31337: 1 transaction needs 152,000 gas')
    const before = await balance(2n)
    const ran = await run('mint', '2', '--file', file, '--failed', 'again.csv', '--json')
    expect(ran.code).toBe(3)
    const rows = ran.stdout.trim().split('\n')
    expect(rows.map((line) => JSON.parse(line))).toMatchObject([
      { row: 1, status: 'minted', txnHash: sent.txnHash },
      { row: 2, status: 'minted', recipient: getAddress(bob) },
      { row: 3, status: 'failed', error: expect.stringContaining('nobody.eth') },
    ])
    expect(await balance(2n)).toBe(before + 2n)
  })

  test('a sheet without an event names one in each row; a bad row refuses all of it', async () => {
    const file = write('events.csv', `eventId,recipient\n2,${bob}\nx,0x1\n`)
    const before = await balance(2n)
    const ran = await run('mint', '--file', file)
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringMatching(/row 2.*"x" must be the id/s)])
    expect(await balance(2n)).toBe(before)
    const both = await run('mint', '2', '--file', file, '--recipient', bob)
    expect(both.code).toBe(2)
  })
})
