import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { uidFromBytes, uidToColons } from '../../src/nfc/uid.ts'
import { type CliHome, ends, withDaemon } from '../support/cli.ts'
import { acmeKey, otherKey, seed, uids } from '../support/seeds.ts'

const decimal = (hex: string): string => uidFromBytes(Buffer.from(hex, 'hex'))
const labels = ['Coat 7', `it's "odd" = fine`, 'a=b', '04DE5F1EACC041', '1e5']
const labelled = (n: number): string => decimal(`04AA0000000${n}80`)
const [acme, other] = seed.teams
const group = {
  name: 'Labelled',
  chips: labels.map((label, n) => ({ uid: labelled(n), label, keySet: 101 })),
}

let here: CliHome
const teams = [{ ...acme, chipGroups: [...(acme?.chipGroups ?? []), group] }, other]
withDaemon({ seed: { ...seed, teams } }, (home) => {
  here = home
})
const json = (...args: string[]) => here.json(...args)
const found = async (...args: string[]) =>
  ((await json('chips', 'list', ...args)) as { uid: string }[]).map(({ uid }) => uid)

describe('chips list', () => {
  test('without a group lists all chips of the team, with labels and groups', async () => {
    const all = await here.run('chips', 'list')
    const [heading = '', ...rows] = all.stdout.trim().split('\n')
    expect(heading.split('\t').slice(0, 4)).toEqual(['UID', 'HEX', 'LABEL', 'GROUP'])
    expect(rows).toHaveLength(7 + labels.length)
    expect(all.stdout).toContain(`${labelled(0)}\t${uidToColons(labelled(0))}\tCoat 7\tLabelled`)
    expect(await json('chips', 'list', '--label', 'Coat 7')).toEqual([
      expect.objectContaining({
        uid: labelled(0),
        label: 'Coat 7',
        chipGroup: 'Labelled',
        isConfigured: false,
        redirectUrl: null,
        createdAt: expect.any(String),
      }),
    ])
  })

  test('selects by label, by what holds, and by both', async () => {
    for (const [n, label] of labels.entries()) {
      expect(await found('--label', label)).toEqual([labelled(n)])
      expect(await found('--where', `label=${label}`)).toEqual([labelled(n)])
    }
    expect(await found('--label', 'a=b', '--label', 'Coat 7')).toHaveLength(2)
    expect(await found('--label', 'a=b', '--where', 'chipGroup=Jackets')).toEqual([])
    expect(await found('--where', 'item=jacket', '--where', 'linked=false')).toEqual([decimal(uids.unminted)])
    expect(await found('--where', ' disabled = TRUE ')).toEqual([])
    expect(await found('--where', 'redirectUrl=https://acme.example/jacket?x=a%20b')).toEqual([
      decimal(uids.jacket),
    ])
    expect(await found('--where', 'tappedSince=7d')).toEqual([])
    expect(await found('--where', 'keySet=102', '--chip-group', 'Prints')).toEqual([decimal(uids.plain)])
    const none = await here.run('chips', 'list', '--where', 'generation=3')
    expect([none.code, none.stdout, none.stderr]).toEqual([0, '', 'No chips match.\n'])
  })

  test('with an API key alone lists those of its team', async () => {
    here.env.TAPCHIP_ADMIN_TOKEN = ''
    expect(await found('--chip-group', 'Prints')).toHaveLength(2)
    expect(await found()).toHaveLength(7 + labels.length)
    expect((await here.run('chips', 'list', '--chip-group', 'Prints')).stdout).toContain('LABEL')
    expect(await found('--label', 'Coat 7')).toHaveLength(1)
    here.env.TAPCHIP_API_KEY = otherKey
    expect(await found()).toEqual([decimal('04827F12647380')])
  })

  test.each([
    [['--where', 'colour=red'], 'no column "colour"[^]*chipGroup, label, item'],
    [['--where', 'disabled'], 'disabled has no value'],
    [['--where', 'disabled=maybe'], 'disabled "maybe" must be true or false'],
    [['--where', 'tappedSince=2026-13-45'], 'tappedSince must be a date .* not "2026-13-45"'],
    [['--where', 'tappedSince=2026-02-30'], 'tappedSince must be a date'],
    [['--where', 'keySet=x'], 'keySet "x" must be a whole number'],
    [['--where', 'generation='], 'generation must not be empty'],
    [['--where', 'contractAddress=0x12'], 'contractAddress "0x12" must be an address'],
    [['--where', 'item=a', '--where', 'item=b'], 'item is given twice'],
    [['--label', 'a', '--where', 'label=b'], 'label is given twice'],
    [['--label', ''], '--label is empty'],
  ])('%j is refused before anything is asked', async (args, why) => {
    here.env.TAPCHIP_URL = 'http://127.0.0.1:1'
    const ran = await here.run('chips', 'list', ...args)
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringMatching(why)])
  })
})

test('an export takes the same conditions, and its JSON has the columns of the sheet', async () => {
  await here.run('chips', 'export', '--where', 'chipGroup=Labelled', '--file', 'out.csv')
  expect(readFileSync(join(here.home, 'out.csv'), 'utf8').trim().split('\n')).toHaveLength(1 + labels.length)
  const [heading = ''] = readFileSync(join(here.home, 'out.csv'), 'utf8').split('\n')
  const [line] = (await here.run('chips', 'export', '--label', 'a=b', '--json')).lines()
  expect(Object.keys(line as object).sort()).toEqual(heading.trim().split(',').sort())
  ends(await here.run('chips', 'export', '--where', 'x=1'), 2, 'no column "x"')
})

describe('a label is taken wherever a UID is', () => {
  test('a UID wins over a label that looks like one, and --label says that it is a label', async () => {
    ends(await here.run('chips', 'show', '04DE5F1EACC041'), 1, 'no chip with the UID')
    expect(await found('--label', '04DE5F1EACC041')).toEqual([labelled(3)])
    expect(await json('chips', 'show', '1e5')).toMatchObject({ uid: labelled(4) })
  })

  test('show, link, unlink, disable, enable, replace, edit, taps, assignments, transfers', async () => {
    const [, odd = ''] = labels
    expect(await json('chips', 'show', odd)).toMatchObject({ uid: labelled(1) })
    expect(await json('chips', 'link', odd, '--item', 'jacket')).toMatchObject({ item: { id: 'jacket' } })
    expect(await json('chips', 'unlink', odd, '--item', '--yes')).toMatchObject({ item: null })
    expect(await json('chips', 'disable', odd, '--yes')).toMatchObject({ disabledAt: expect.any(String) })
    expect(await json('chips', 'enable', odd)).toMatchObject({ disabledAt: null })
    expect((await here.run('chips', 'edit', '--uid', odd, '--redirect-url', 'https://a.example/')).code).toBe(
      0,
    )
    expect(await json('chips', 'show', odd)).toMatchObject({ redirectUrl: 'https://a.example/' })
    writeFileSync(join(here.home, 'soft.csv'), 'uid,label\n04BB0000000080,Soft one\n04BB0000000180,\n')
    await here.run(
      'chips',
      'import',
      '--file',
      'soft.csv',
      '--chip-group',
      'Soft',
      '--key-set',
      '101',
      '--simulated',
    )
    const [tap] = (await here.run('taps', 'simulate', '--uid', 'Soft one', '--json')).lines()
    expect(tap).toMatchObject({ uid: decimal('04BB0000000080') })
    expect(await json('taps', 'list', '--uid', odd)).toEqual([])
    expect(await json('guestbook', 'assign', '1', odd, uids.blank)).toMatchObject({ success: true })
    expect((await here.run('badge-events', 'assign', '1', '--uid', odd)).code).toBe(0)
    ends(
      await here.run('phygitals', 'transfer', '--uid', odd, '--recipient', `0x${'11'.repeat(20)}`),
      1,
      `${labelled(1)} (04:AA:00:00:00:01:80) has no token`,
    )
    expect(await json('chips', 'replace', odd, '--with', '04BB0000000180', '--yes')).toMatchObject({
      replacedBy: decimal('04BB0000000180'),
    })
  })

  test('one that no chip has is a usage error, as is a bad UID', async () => {
    const ran = await here.run('chips', 'show', '1.2E+15')
    ends(ran, 2, 'scientific notation')
    expect(ran.stderr).toContain('No chip has the label "1.2E+15" either')
    here.env.TAPCHIP_API_KEY = otherKey
    ends(await here.run('chips', 'show', 'Coat 7'), 2, 'No chip has the label "Coat 7" either')
    here.env.TAPCHIP_API_KEY = ''
    ends(await here.run('chips', 'show', 'Coat 7'), 2, 'labels are looked up in one team')
    ends(await here.run('chips', 'show', 'Coat 7', '--team', 'Other'), 2, 'No chip has the label')
    here.env.TAPCHIP_ADMIN_TOKEN = ''
    ends(await here.run('chips', 'show', 'Coat 7'), 2, 'must be a UID')
  })
})

describe('chips edit', () => {
  test('edits those that a condition selects, and an undo puts them back', async () => {
    here.env.TAPCHIP_API_KEY = acmeKey
    const args = ['chips', 'edit', '--where', 'chipGroup=Prints', '--where', 'redirectUrl=']
    const dry = await here.run(
      ...args,
      '--redirect-url',
      'https://p.example/',
      '--yes',
      '--dry-run',
      '--json',
    )
    expect(dry.lines()).toMatchObject([{ status: 'changed' }, { status: 'changed' }])
    const ran = await here.run(...args, '--redirect-url', 'https://p.example/', '--yes')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('2 changed')])
    const again = await here.run(...args, '--redirect-url', 'https://p.example/', '--yes')
    expect([again.code, again.stderr]).toEqual([
      0,
      'There are no chips with chip group Prints, redirectUrl=. Nothing to do.\n',
    ])
    const [, id = ''] = /Batch (\S+):/.exec(ran.stderr) ?? []
    expect((await here.run('batch', 'undo', id, '--yes')).code).toBe(0)
    expect(await found('--where', 'chipGroup=Prints', '--where', 'redirectUrl=')).toHaveLength(2)
  })

  test('a label of no chip is an error, off a terminal many need --yes, and a file says it all', async () => {
    const some = ['chips', 'edit', '--clear', '--label', 'Coat 7', '--label', 'Coat 8']
    ends(await here.run(...some, '--yes'), 1, 'No chip has the label "Coat 8". Nothing was written.')
    ends(await here.run('chips', 'edit', '--clear', '--where', 'item='), 2, 'Confirm with --yes')
    writeFileSync(join(here.home, 'e.csv'), 'uid,redirectUrl\n')
    ends(await here.run('chips', 'edit', '--file', 'e.csv', '--label', 'x'), 2, '--file already says')
    ends(await here.run('chips', 'edit', '--uid', '1', '--where', 'item='), 2, 'not both')
  })
})

describe('many chips at once', () => {
  const sheet = (name: string, count: number) =>
    ['uid,label', ...Array.from({ length: count }, (_, n) => `${chipOf(name, n)},${name} ${n}`)].join('\n')
  const chipOf = (name: string, n: number) =>
    `04${name.charCodeAt(3).toString(16)}0000${n.toString(16).padStart(4, '0')}80`.toUpperCase()
  const importBox = async (name: string, count = 3) => {
    writeFileSync(join(here.home, 'box.csv'), sheet(name, count))
    const ran = await here.run(
      'chips',
      'import',
      '--file',
      'box.csv',
      '--chip-group',
      name,
      '--key-set',
      '101',
    )
    expect([ran.code, ran.stderr]).toEqual([0, expect.any(String)])
  }
  const idOf = ({ stderr }: { stderr: string }): string => /Batch (\S+):/.exec(stderr)?.[1] ?? stderr

  test('are disabled with a reason, enabled again, and an undo disables them again', async () => {
    await importBox('boxA')
    const dry = await here.run('chips', 'disable', '--chip-group', 'boxA', '--dry-run')
    ends(dry, 0, 'Dry run: nothing was written.')
    expect(dry.stdout).toContain('3 to change (3 disabled)')
    ends(
      await here.run('chips', 'disable', '--chip-group', 'boxA'),
      2,
      'Disable 3 chips (chip group boxA)? Confirm with --yes',
    )
    expect(await found('--where', 'disabled=true', '--chip-group', 'boxA')).toEqual([])
    const done = await here.run(
      'chips',
      'disable',
      '--chip-group',
      'boxA',
      '--reason',
      'stolen',
      '--yes',
      '--json',
    )
    expect([done.code, done.lines()]).toEqual([
      0,
      [0, 1, 2].map((n) =>
        expect.objectContaining({
          uid: decimal(chipOf('boxA', n)),
          status: 'changed',
          changes: { disabled: { from: false, to: true } },
        }),
      ),
    ])
    expect(await json('chips', 'show', 'boxA 1')).toMatchObject({ disabledReason: 'stolen' })
    const enabled = await here.run('chips', 'enable', '--where', 'disabled=true', '--chip-group', 'boxA')
    ends(enabled, 0, '3 changed')
    expect(await found('--where', 'disabled=true', '--chip-group', 'boxA')).toEqual([])
    expect((await here.run('batch', 'undo', idOf(enabled), '--yes')).code).toBe(0)
    expect(await found('--where', 'disabled=true', '--chip-group', 'boxA')).toHaveLength(3)
    const again = await here.run('chips', 'disable', '--chip-group', 'boxA', '--yes')
    ends(again, 0, '3 unchanged')
    expect(again.stderr).toContain('Of 3 chips, 3 would stay as they are.')
    const two = await here.run('chips', 'enable', 'boxA 0', 'boxA 1')
    expect([two.code, two.stderr]).toEqual([0, expect.not.stringContaining('would')])
    const named = await here.run('chips', 'disable', 'boxA 0', 'boxA 1')
    ends(named, 2, 'Disable 2 chips (boxA 0, boxA 1)? Confirm with --yes')
  })

  test('are linked, unlinked, and moved, by name or by what holds', async () => {
    await importBox('boxB')
    ends(
      await here.run('chips', 'link', 'boxB 0', 'boxB 1', '--item', 'jacket', '--variant', 's'),
      0,
      '2 changed',
    )
    expect(await found('--where', 'variant=s', '--chip-group', 'boxB')).toHaveLength(2)
    ends(await here.run('chips', 'link', '--chip-group', 'boxB', '--item', 'nothing'), 3, 'item nothing')
    ends(
      await here.run('chips', 'unlink', '--chip-group', 'boxB', '--item', '--yes'),
      0,
      '2 changed, 1 unchanged',
    )
    expect(await found('--where', 'item=jacket', '--chip-group', 'boxB')).toEqual([])
    await here.run('chip-groups', 'create', 'Returns')
    const moved = await here.run('chips', 'move', 'boxB 0', chipOf('boxB', 2), '--chip-group', 'Returns')
    ends(moved, 0, '2 changed')
    expect(await found('--chip-group', 'Returns')).toHaveLength(2)
    const one = await here.run('chips', 'move', '--label', 'boxB 1', '--chip-group', 'Returns')
    expect([one.code, one.stdout]).toEqual([0, expect.stringContaining('changed  chipGroup boxB → Returns')])
    ends(
      await here.run('chips', 'move', 'boxB 1', '--chip-group', 'Retunrs'),
      1,
      'There is no chip group "Retunrs"',
    )
    ends(await here.run('chips', 'move', 'boxB 1'), 2, '--chip-group is missing')
    expect((await here.run('batch', 'undo', idOf(moved), '--yes')).code).toBe(0)
    expect(await found('--chip-group', 'boxB')).toHaveLength(2)
    const groups = (await json('chip-groups', 'list', '--team', 'Acme')) as { name: string; chips: number }[]
    expect(groups.find(({ name }) => name === 'boxB')).toMatchObject({ chips: 2 })
  })

  test('are removed with --yes alone, and their counters stay known', async () => {
    await importBox('boxC', 5)
    ends(await here.run('chips', 'remove', '--chip-group', 'boxC'), 2, 'Remove 5 chips (chip group boxC)?')
    const dry = await here.run('chips', 'remove', '--chip-group', 'boxC', '--dry-run')
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringContaining('5 to remove')])
    const some = ['chips', 'remove', '--label', 'boxC 0', '--label', 'boxC 1', '--yes'] as const
    const gone = await here.run(...some, '--json')
    expect([gone.code, gone.lines()]).toEqual([
      0,
      [0, 1].map((n) => ({ row: n + 1, uid: decimal(chipOf('boxC', n)), status: 'removed' })),
    ])
    ends(await here.run(...some), 1, 'No chip has the label "boxC 0", "boxC 1"')
    ends(await here.run('batch', 'undo', idOf(gone), '--yes'), 2, 'A removal cannot be undone')
    const part = await here.run('chips', 'remove', 'boxC 2', '04827F12647380', '--yes')
    ends(part, 3, 'The team has no such chip')
    expect(part.stderr).toContain('1 removed, 0 unchanged, 1 failed')
    ends(await here.run('chips', 'remove', '--chip-group', 'boxC', '--yes'), 0, '2 removed')
    ends(
      await here.run('chips', 'remove', '--chip-group', 'boxC', '--yes'),
      0,
      'There are no chips with chip group boxC',
    )
    expect(await json('chip-groups', 'remove', 'boxC', '--yes')).toEqual({ success: true })
  })

  test('a label is changed, cleared, and never given twice', async () => {
    await importBox('boxD')
    const [line] = (await here.run('chips', 'rename', 'boxD 0', '--label', 'New "one"', '--json')).lines()
    expect(line).toMatchObject({ status: 'changed', changes: { label: { from: 'boxD 0', to: 'New "one"' } } })
    ends(
      await here.run('chips', 'rename', 'New "one"', '--label', 'boxD 1'),
      1,
      'label "boxD 1" belongs to the chip',
    )
    const same = await here.run('chips', 'rename', 'New "one"', '--label', 'New "one"')
    expect([same.code, same.stdout]).toEqual([0, expect.stringContaining('unchanged')])
    expect((await here.run('chips', 'rename', 'New "one"', '--clear')).code).toBe(0)
    expect(await json('chips', 'show', chipOf('boxD', 0))).toMatchObject({ label: null })
    ends(await here.run('chips', 'rename', 'boxD 1'), 2, '--label or --clear')
  })

  test('no chips, two ways of choosing, and chips of nobody', async () => {
    for (const verb of [
      ['disable'],
      ['enable'],
      ['remove'],
      ['unlink', '--item'],
      ['move', '--chip-group', 'Jackets'],
    ]) {
      const many = ['chips', ...verb, '--yes']
      ends(await here.run(...many), 2, 'Specify which chips')
      ends(await here.run(...many, 'x', '--where', 'item='), 2, 'not both')
      ends(await here.run(...many, '--where', 'generation=9'), 0, 'There are no chips with generation=9')
      ends(await here.run(...many, '--label', 'none such'), 1, 'No chip has the label "none such"')
      ends(await here.run(...many, '--where', 'colour=red'), 2, 'no column "colour"')
    }
    ends(
      await here.run('chips', 'disable', uids.blank, '04827F12647380', '--yes'),
      3,
      'The team has no such chip',
    )
  })
})
