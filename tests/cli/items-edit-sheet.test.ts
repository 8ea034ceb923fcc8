import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { spawnCli } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { otherKey } from '../support/seeds.ts'

const count = 120
const hat = {
  id: 'hat',
  name: 'Hat',
  description: 'Warm',
  imageUrl: 'https://img.example/hat.png',
  media: [{ mimeType: 'image/png', url: 'https://img.example/hat.png' }],
  attributes: [{ name: 'Size', values: ['S', 'M'] }],
  variants: [{ id: 's', attributes: [{ name: 'Size', value: 'S' }] }],
}
const seed = {
  version: 1,
  teams: [
    {
      name: 'Acme',
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }],
      items: [
        hat,
        { id: 'scarf', name: 'Scarf' },
        { id: 'glove', name: 'Glove' },
        ...Array.from({ length: count }, (_, n) => ({ id: `many-${n}`, name: `Before ${n}` })),
      ],
    },
    { name: 'Other', apiKeys: [{ name: 'ops', key: otherKey }], items: [{ id: 'theirs', name: 'Theirs' }] },
  ],
}

interface Item {
  id: string
  name: string
  contract: { symbol: string } | null
  [member: string]: unknown
}

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_ADMIN_TOKEN: daemon.adminToken })
})
afterEach(() => here.remove())

const file = (name: string, text: string) => writeFileSync(join(here.home, name), text)
const edit = (...args: string[]) => here.run('items', 'edit', '--team', 'Acme', '--file', ...args)
const all = async () => (await here.run('items', 'list', '--team', 'Acme', '--json')).json() as Item[]
const item = async (id: string) => (await all()).find((one) => one.id === id)
const batchId = (stderr: string): string => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''
const quoted = (value: unknown) => `"${JSON.stringify(value).replaceAll('"', '""')}"`
const listed = async () => (await here.run('batch', 'list', '--json')).json()
const undo = (id: string, ...args: string[]) => here.run('batch', 'undo', id, '--yes', '--json', ...args)

describe('items edit --file without an item', () => {
  test('replaces what each row names, leaves alone what it does not, and is taken back whole', async () => {
    const before = await all()
    const media = [{ mimeType: 'image/gif', url: 'https://img.example/new.gif' }]
    const variants = [...hat.variants, { id: 'm', attributes: [{ name: 'Size', value: 'M' }] }]
    file(
      'a.csv',
      `id,name,contract,media,variants\nhat,Winter hat,JKT,${quoted(media)},${quoted(variants)}\nscarf,Scarf,,,\n`,
    )
    const ran = await edit('a.csv', '--json')
    expect([ran.code, ran.lines()]).toEqual([
      0,
      [
        { row: 1, id: 'hat', status: 'changed' },
        { row: 2, id: 'scarf', status: 'unchanged' },
      ],
    ])
    expect(ran.stderr).toContain('1 changed, 1 unchanged, 0 failed.')
    expect(await item('hat')).toMatchObject({
      ...hat,
      name: 'Winter hat',
      contract: { symbol: 'JKT' },
      media,
      variants,
    })
    const id = batchId(ran.stderr)
    expect((await here.run('batch', 'status', id, '--json')).json()).toMatchObject({
      kind: 'items edit',
      state: 'done',
      total: 2,
      changed: 1,
    })
    expect((await here.run('batch', 'report', id)).stdout).toMatch(
      /^row 1 {2}hat {2}changed {2}name Hat → Winter hat .*\nrow 2 {2}scarf {2}unchanged\n$/,
    )
    expect((await edit('a.csv', '--json')).lines()).toMatchObject([{ status: 'unchanged' }, {}])
    const dry = await undo(id, '--dry-run')
    expect(dry.lines()).toMatchObject([{ id: 'hat', changes: { name: { from: 'Winter hat', to: 'Hat' } } }])
    const undone = await undo(id)
    expect([undone.code, undone.lines()]).toEqual([0, [{ row: 1, id: 'hat', status: 'changed' }]])
    expect(await all()).toEqual(before)
    // An undo is a batch itself.
    expect((await undo(batchId(undone.stderr))).code).toBe(0)
    expect((await item('hat'))?.name).toBe('Winter hat')
    expect((await undo(id)).code).toBe(0)
  })

  test('takes JSON and JSON lines, with lists as they are; null and an empty cell clear', async () => {
    const before = await all()
    const attributes = [{ name: 'Colour', values: ['red'] }]
    file(
      'a.json',
      JSON.stringify([
        { id: 'scarf', attributes },
        { id: 'glove', description: 'Left' },
      ]),
    )
    const ids = [batchId((await edit('a.json')).stderr)]
    expect(await item('scarf')).toMatchObject({ name: 'Scarf', attributes })
    expect(await item('glove')).toMatchObject({ name: 'Glove', description: 'Left' })
    here.stdin = '{"id":"scarf","attributes":null}\n{"id":"glove","description":null}\n'
    ids.unshift(batchId((await edit('-')).stderr))
    expect(await item('scarf')).toMatchObject({ attributes: [] })
    expect(await item('glove')).toMatchObject({ description: '' })
    file('clear.csv', 'id,imageUrl,variants\nhat,,\n')
    ids.unshift(batchId((await edit('clear.csv')).stderr))
    expect(await item('hat')).toMatchObject({ name: 'Hat', description: 'Warm', imageUrl: '', variants: [] })
    for (const id of ids) expect((await undo(id)).code).toBe(0)
    expect(await all()).toEqual(before)
  })

  test('a dry run shows the difference, and neither writes nor begins a batch', async () => {
    const [before, known] = [await all(), await listed()]
    file('a.csv', 'id,name\nhat,Cap\nscarf,Scarf\nnobody,X\n')
    const ran = await edit('a.csv', '--dry-run')
    expect([ran.code, ran.stdout.split('\n')]).toEqual([
      3,
      [
        'row 1  hat  changed  name Hat → Cap',
        'row 2  scarf  unchanged',
        expect.stringContaining('row 3  nobody  failed  No such item.'),
        '',
      ],
    ])
    expect(ran.stderr).toContain('1 would change, 1 unchanged, 1 would fail. Nothing was written.')
    expect((await edit('a.csv', '--dry-run', '--json')).lines()[0]).toEqual({
      row: 1,
      id: 'hat',
      status: 'changed',
      changes: { name: { from: 'Hat', to: 'Cap' } },
    })
    expect(await all()).toEqual(before)
    expect(await listed()).toEqual(known)
  })

  test('rows that do not fit are all named, and nothing is written', async () => {
    const [before, known] = [await all(), await listed()]
    file(
      'wrong.csv',
      'id,name,media,attributes,variants\n,A,[],[],[]\nhat,,[],[],[]\nscarf,B,{},[],[]\nscarf,C,[],[],[]\nglove,D,[,"[{""name"":1}]",[]\nno/id,E,[],[],[]\n',
    )
    const refused = await edit('wrong.csv', '--json')
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    for (const problem of [
      'row 1, id: is missing',
      'row 2, name: must not be empty',
      'row 3, media: must be a list like [{ "mimeType", "url" }]',
      'row 5, media: is not JSON',
      'row 5, attributes: must be a list like',
      'row 6, id: "no/id" is not a valid item ID',
      'Nothing was written.',
    ])
      expect(refused.stderr).toContain(problem)
    file('twice.csv', 'id,name\nhat,A\nhat,B\n')
    expect((await edit('twice.csv')).stderr).toContain('row 2, id: "hat" is already in row 1')
    file('nothing.jsonl', '{"id":"hat"}\n')
    const nothing = await edit('nothing.jsonl')
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('has nothing to change')])
    file('unknown.csv', 'id,title\nhat,A\n')
    expect((await edit('unknown.csv')).stderr).toContain('unknown column "title"')
    expect(await all()).toEqual(before)
    expect(await listed()).toEqual(known)
  })

  test("an unknown item, another team's and what the daemon refuses fail alone, and can be fed back", async () => {
    file(
      'a.jsonl',
      '{"id":"nobody","name":"X"}\n{"id":"theirs","name":"Ours"}\n{"id":"hat","description":"Cold","contract":"NONE"}\n{"id":"scarf","name":"Shawl"}\n',
    )
    const ran = await edit('a.jsonl', '--json', '--failed', 'again.csv')
    expect([ran.code, ran.lines()]).toEqual([
      3,
      [
        { row: 1, id: 'nobody', status: 'failed', error: expect.stringContaining('No such item') },
        { row: 2, id: 'theirs', status: 'failed', error: expect.stringContaining('No such item') },
        { row: 3, id: 'hat', status: 'failed', error: expect.stringContaining('contract') },
        { row: 4, id: 'scarf', status: 'changed' },
      ],
    ])
    // What a row left alone stands in it as it is: an empty cell would clear it.
    expect(readFileSync(join(here.home, 'again.csv'), 'utf8')).toMatch(
      /^id,name,description,contract,error\nnobody,X,,,"?No such item.*\ntheirs,Ours,,,"?No such item.*\nhat,Hat,Cold,NONE,.+\n$/,
    )
    expect((await edit('again.csv')).code).toBe(3)
    expect(await item('hat')).toMatchObject(hat)
    expect((await undo(batchId(ran.stderr))).lines()).toEqual([{ row: 4, id: 'scarf', status: 'changed' }])
    expect((await item('scarf'))?.name).toBe('Scarf')
  })

  test('an undo leaves alone what somebody has changed since, in the named members and in no other', async () => {
    file('a.csv', 'id,name\nhat,Cap\nscarf,Shawl\n')
    const id = batchId((await edit('a.csv')).stderr)
    await here.run('items', 'edit', 'hat', '--team', 'Acme', '--name', 'Beret')
    await here.run('items', 'edit', 'scarf', '--team', 'Acme', '--description', 'Long')
    const undone = await undo(id)
    expect([undone.code, undone.lines()]).toEqual([
      3,
      [
        { row: 1, id: 'hat', status: 'failed', error: expect.stringContaining('in the meantime') },
        { row: 2, id: 'scarf', status: 'changed' },
      ],
    ])
    expect(await item('hat')).toMatchObject({ name: 'Beret' })
    expect(await item('scarf')).toMatchObject({ name: 'Scarf', description: 'Long' })
    await here.run('items', 'edit', 'hat', '--team', 'Acme', '--name', 'Hat')
    await here.run('items', 'edit', 'scarf', '--team', 'Acme', '--description', '')
  })

  test('a batch goes on when its command was killed, and what changed meanwhile is not written over', async () => {
    const before = await all()
    const rows = Array.from({ length: count }, (_, n) => `many-${n},After ${n}`)
    file('many.csv', `id,name\n${rows.join('\n')}\n`)
    // Slow enough that the kill comes before the last row, however busy the machine is.
    const args = ['items', 'edit', '--team', 'Acme', '--file', 'many.csv', '--rate', '30', '--json']
    const running = spawnCli(args, here.env, here.home)
    await running.until((stdout) => stdout.includes('"changed"'))
    running.child.kill('SIGKILL')
    expect(await running.ended).toBe('SIGKILL')
    const id = batchId(running.stderr())
    const done = (await all()).filter(({ name }) => name.startsWith('After')).length
    expect(done).toBeLessThan(count)
    const last = `many-${count - 1}`
    await here.run('items', 'edit', last, '--team', 'Acme', '--name', 'Somebody else')
    const followed = await here.run('batch', 'follow', id, '--json')
    expect(followed.code).toBe(3)
    expect(followed.lines().at(-1)).toMatchObject({
      id: last,
      status: 'conflict',
      error: expect.stringContaining('since the batch was planned'),
    })
    expect((await all()).filter(({ name }) => name.startsWith('After'))).toHaveLength(count - 1)
    expect((await here.run('batch', 'status', id, '--json')).json()).toMatchObject({
      state: 'done',
      changed: count - 1,
      conflict: 1,
    })
    expect((await undo(id)).code).toBe(0)
    await here.run('items', 'edit', last, '--team', 'Acme', '--name', `Before ${count - 1}`)
    expect(await all()).toEqual(before)
  })

  test('Ctrl-C finishes the row on its way, and ends with 130', async () => {
    const before = await all()
    file(
      'many.csv',
      `id,name\n${Array.from({ length: count }, (_, n) => `many-${n},Stop ${n}`).join('\n')}\n`,
    )
    const args = ['items', 'edit', '--team', 'Acme', '--file', 'many.csv', '--json']
    const ran = await here.interruptedRun((stdout) => stdout.includes('"changed"'), ...args)
    expect(ran.code).toBe(130)
    const id = batchId(ran.stderr)
    expect(ran.stderr).toContain(`Continue: tapchip batch resume ${id}`)
    expect((await all()).filter(({ name }) => name.startsWith('Stop'))).toHaveLength(ran.lines().length)
    // Taken back without being finished.
    expect((await undo(id)).code).toBe(0)
    expect(await all()).toEqual(before)
  })

  test('wants a sheet or an item, and no flag that says the same', async () => {
    file('a.csv', 'id,name\nhat,Cap\n')
    const without = await here.run('items', 'edit', '--team', 'Acme')
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('Specify which item')])
    expect((await edit('a.csv', '--description', 'Cap')).code).toBe(2)
    expect((await edit('missing.csv')).code).toBe(2)
    file('none.csv', 'id,name\n')
    expect((await edit('none.csv')).stderr).toContain('has no rows. Nothing to do.')
    // With an item the file is the item, as ever.
    file('hat.json', JSON.stringify({ description: 'Warmer' }))
    expect((await here.run('items', 'edit', 'hat', '--team', 'Acme', '--file', 'hat.json')).code).toBe(0)
    expect(await item('hat')).toMatchObject({ name: 'Hat', description: 'Warmer' })
    await here.run('items', 'edit', 'hat', '--team', 'Acme', '--description', 'Warm')
  })
})
