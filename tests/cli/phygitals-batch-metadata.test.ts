import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emptyMetadata } from '../../src/values/token.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { chips, phygitalSeed } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
let jackets = ''

beforeAll(async () => {
  daemon = await startTestDaemon({ seed: phygitalSeed, chain: true })
  jackets = await addressOf('JKT')
})
const addressOf = async (symbol: string): Promise<string> => {
  const contracts = await daemon.ctx.db.read.selectFrom('contracts').selectAll().execute()
  return contracts.find((contract) => contract.symbol === symbol)?.address ?? ''
}
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({ TAPCHIP_URL: daemon.url, TAPCHIP_API_KEY: acmeKey })
})
afterEach(() => here.remove())

const file = (name: string, content: string | object): string => {
  writeFileSync(join(here.home, name), typeof content === 'string' ? content : JSON.stringify(content))
  return name
}
const metadata = (name: string) => ({
  name,
  collection: 'Jackets',
  description: 'A "shell" jacket',
  image: '',
  attributes: [{ trait_type: 'Size', value: 'M' }],
  media_gallery: [],
})
const quoted = (value: object) => `"${JSON.stringify(value).replaceAll('"', '""')}"`
const describeAll = (...args: string[]) => here.run('phygitals', 'metadata', ...args)
const served = async (n: number): Promise<unknown> =>
  (await fetch(`${daemon.url}/metadata/31337/${jackets}/${n}`)).json()
const transactions = async () =>
  (await daemon.ctx.db.read.selectFrom('transactions').select('id').execute()).length
const batchId = (stderr: string): string => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''

describe('phygitals metadata --file', () => {
  test('takes JSON in the cell, or the path of a file beside the sheet; and can be taken back', async () => {
    mkdirSync(join(here.home, 'sheets'))
    file('sheets/two.json', metadata('Two'))
    file(
      'sheets/a.csv',
      `contractAddress,chainId,tokenId,metadata\n${jackets},31337,1,${quoted(metadata('One'))}\n${jackets},31337,2,two.json\n`,
    )
    const ran = await describeAll('--file', 'sheets/a.csv', '--json')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('2 changed, 0 unchanged, 0 failed')])
    expect(ran.lines()).toEqual([
      { row: 1, status: 'changed' },
      { row: 2, status: 'changed' },
    ])
    expect([await served(1), await served(2)]).toEqual([metadata('One'), metadata('Two')])
    const before = await transactions()
    const again = await describeAll('--file', 'sheets/a.csv', '--json')
    expect(again.lines()).toEqual([
      { row: 1, status: 'unchanged' },
      { row: 2, status: 'unchanged' },
    ])
    expect(await transactions()).toBe(before)

    // Somebody changes one of them: that one stays.
    file(
      'later.csv',
      `contractAddress,chainId,tokenId,metadata\n${jackets},31337,2,${quoted(metadata('Later'))}\n`,
    )
    await describeAll('--file', 'later.csv')
    expect((await here.run('batch', 'undo', batchId(ran.stderr))).code).toBe(2)
    const undone = await here.run('batch', 'undo', batchId(ran.stderr), '--yes', '--json')
    expect(undone.code).toBe(3)
    expect(undone.lines()).toEqual([
      { row: 1, status: 'changed' },
      { row: 2, status: 'conflict', error: expect.stringContaining('in the meantime') },
    ])
    expect([await served(1), await served(2)]).toMatchObject([{ name: 'Jacket #1' }, { name: 'Later' }])
    const kinds = (await here.run('batch', 'list', '--json')).json() as { kind: string }[]
    expect(kinds.map(({ kind }) => kind).sort()).toEqual([
      'phygitals metadata',
      'phygitals metadata',
      'phygitals metadata',
      'phygitals undo',
    ])
  })

  test('is replaced, and announced once the relayer can pay for that; the plan says what it costs', async () => {
    const { relayer, client } = daemon.ctx.chains.get(31337)
    const rich = await client.getBalance({ address: relayer })
    const give = (wei: bigint) =>
      daemon.ctx.chains.embedded?.request({
        method: 'anvil_setBalance',
        params: [relayer, `0x${wei.toString(16)}`],
      })
    here.stdin = `${JSON.stringify({ uid: chips.jacket(16), metadata: metadata('Sixteen') })}\n`
    await give(20_000_000_000n)
    try {
      const ran = await describeAll('--file', '-')
      expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('1 changed')])
      expect(ran.stderr).toMatch(/^Chain 31337: 1 transaction needs [\d,]+ gas, .* has 0\.00000002 ether\.$/m)
      expect(ran.stderr).toContain('cannot pay for this: transactions wait until')
    } finally {
      await give(rich)
    }
    expect(await served(16)).toEqual(metadata('Sixteen'))
  })

  test('a token that had none has none again, and gets it back when that is undone; not if somebody was faster', async () => {
    const art = await addressOf('ART')
    const answered = async (n: number) =>
      (await fetch(`${daemon.url}/metadata/31337/${art}/${n}`)).json() as Promise<unknown>
    const none = await answered(1)
    expect(none).toEqual(emptyMetadata)
    const row = (n: number, name: string) => `${art},31337,${n},${quoted(metadata(name))}\n`
    file('first.csv', `contractAddress,chainId,tokenId,metadata\n${row(1, 'One')}${row(2, 'Two')}`)
    const ran = await describeAll('--file', 'first.csv')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('2 changed')])
    file('later.csv', `contractAddress,chainId,tokenId,metadata\n${row(2, 'Later')}`)
    await describeAll('--file', 'later.csv')

    const looked = await here.run('batch', 'undo', batchId(ran.stderr), '--yes', '--dry-run')
    expect(looked.stdout).toMatch(/changed\s+\(no metadata\)/)
    const undone = await here.run('batch', 'undo', batchId(ran.stderr), '--yes', '--json')
    expect([undone.code, undone.lines()]).toEqual([
      3,
      [
        { row: 1, status: 'changed' },
        { row: 2, status: 'conflict', error: expect.stringContaining('in the meantime') },
      ],
    ])
    expect([await answered(1), await answered(2)]).toEqual([none, metadata('Later')])
    const back = await here.run('batch', 'undo', batchId(undone.stderr), '--yes', '--json')
    expect([back.code, back.lines()]).toEqual([0, [{ row: 1, status: 'changed' }]])
    expect(await answered(1)).toEqual(metadata('One'))
  })

  test('keeps the digits of large numbers, through a batch and its undo', async () => {
    const url = `${daemon.url}/metadata/31337/${jackets}/2`
    const serial = (digits: string) =>
      `${JSON.stringify(metadata('Serial')).slice(0, -1)},"serial":${digits}}`
    const [first, second] = ['12345678901234567890123', '12345678901234567890124']
    here.stdin = `{"uid":"${chips.jacket(2)}","metadata":${serial(first)}}\n`
    expect((await describeAll('--file', '-')).code).toBe(0)
    expect(await (await fetch(url)).text()).toContain(`"serial":${first}`)
    const place = `${jackets},31337,2`
    file(
      'serial.csv',
      `contractAddress,chainId,tokenId,metadata\n${place},"${serial(second).replaceAll('"', '""')}"\n`,
    )
    const ran = await describeAll('--file', 'serial.csv')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('1 changed')])
    expect(await (await fetch(url)).text()).toContain(`"serial":${second}`)
    expect((await here.run('batch', 'undo', batchId(ran.stderr), '--yes')).code).toBe(0)
    expect(await (await fetch(url)).text()).toContain(`"serial":${first}`)
  })

  test('in JSON lines the metadata may stand as an object, and a chip for its token', async () => {
    here.stdin = `${JSON.stringify({ uid: chips.jacket(3), metadata: metadata('Three') })}\n`
    expect((await describeAll('--file', '-')).code).toBe(0)
    expect(await served(3)).toEqual(metadata('Three'))
  })

  test('is refused whole where a row is invalid by the rules, each named with its field', async () => {
    const { media_gallery: _, ...short } = metadata('x')
    file(
      'bad.csv',
      [
        'contractAddress,chainId,tokenId,metadata',
        `${jackets},31337,4,${quoted(metadata('Four'))}`,
        `${jackets},31337,5,${quoted({ ...short, attributes: [{ value: 'M' }] })}`,
        '',
      ].join('\n'),
    )
    const ran = await describeAll('--file', 'bad.csv')
    expect(ran.code).toBe(2)
    expect(ran.stderr).toMatch(/row 2: .*metadata\.attributes\.0\.trait_type: Required/)
    expect(ran.stderr).toMatch(/media_gallery: Required/)
    file(
      'worse.csv',
      [
        'contractAddress,chainId,tokenId,metadata',
        `${jackets},31337,4,missing.json`,
        `${jackets},31337,5,"{""name"": "`,
        `${jackets},31337,4,${quoted(metadata('Four'))}`,
        '',
      ].join('\n'),
    )
    const worse = await describeAll('--file', 'worse.csv')
    expect([worse.code, worse.stderr]).toEqual([2, expect.stringContaining('Nothing was written')])
    expect(worse.stderr).toContain('row 1, metadata: "missing.json" is neither JSON nor an existing file')
    expect(worse.stderr).toContain('row 3, tokenId: "4" of this contract is already in row 1')
    expect(await served(4)).toMatchObject({ name: 'Jacket #4' })
  })

  test('a token that is not the team’s fails alone, and its row can be fed back', async () => {
    file(
      'part.csv',
      `contractAddress,chainId,tokenId,metadata\n${jackets},31337,999,${quoted(metadata('No'))}\n${jackets},31337,6,${quoted(metadata('Six'))}\n`,
    )
    const ran = await describeAll('--file', 'part.csv', '--json', '--failed', 'again.csv')
    expect(ran.code).toBe(3)
    expect(ran.lines()).toEqual([
      { row: 1, status: 'failed', error: expect.stringContaining('No such token') },
      { row: 2, status: 'changed' },
    ])
    const again = await describeAll('--file', 'again.csv', '--json')
    expect(again.lines()).toMatchObject([{ row: 1, status: 'failed' }])
    expect(readFileSync(join(here.home, 'again.csv'), 'utf8')).toContain(',999,')
    const resumed = await here.run('batch', 'resume', batchId(ran.stderr), '--retry-failed', '--json')
    expect([resumed.code, resumed.lines()]).toEqual([
      3,
      [expect.objectContaining({ row: 1, status: 'failed' })],
    ])
  })
})

describe('phygitals metadata --template', () => {
  const template = {
    name: 'Jacket {{tokenId}} ({{name}})',
    collection: 'Jackets',
    description: '{{note?}}',
    image: 'https://img.acme.example/{{tokenId}}.png',
    attributes: [
      { trait_type: 'Size', value: '{{size}}' },
      { trait_type: 'Weight', value: '{{weight:number}}', display_type: 'number' },
      { trait_type: 'Braces', value: '\\{{size}}' },
    ],
    media_gallery: [],
    limited: '{{limited:boolean?}}',
    nested: { deep: [['{{size}}-{{size}}']] },
  }

  test('fills the columns of a sheet into the values of one JSON, whatever the cells hold', async () => {
    file('t.json', template)
    const nasty = '6" {""a"":1} \\ {{size}} },'
    file(
      's.csv',
      `uid,tokenId,name,size,weight,note,limited,contractAddress,chainId\n,7,"${nasty.replaceAll('"', '""')}",42,1.5,,,${jackets},31337\n,8,Plain,M,3,Ok,TRUE,${jackets},31337\n`,
    )
    const dry = await describeAll('--file', 's.csv', '--template', 't.json', '--dry-run', '--json')
    expect(dry.code).toBe(0)
    const seven = {
      name: `Jacket 7 (${nasty})`,
      collection: 'Jackets',
      description: '',
      image: 'https://img.acme.example/7.png',
      attributes: [
        { trait_type: 'Size', value: '42' },
        { trait_type: 'Weight', value: 1.5, display_type: 'number' },
        { trait_type: 'Braces', value: '{{size}}' },
      ],
      media_gallery: [],
      nested: { deep: [['42-42']] },
    }
    expect(dry.lines()).toMatchObject([
      { row: 1, status: 'changed', metadata: seven, previous: { name: 'Jacket #7' } },
      { row: 2, status: 'changed', metadata: { limited: true, description: 'Ok' } },
    ])
    const people = await describeAll('--file', 's.csv', '--template', 't.json', '--dry-run')
    expect(people.stdout).toContain('      "value": 1.5,')
    expect(people.stderr).toContain('2 would change')
    expect(await served(7)).toMatchObject({ name: 'Jacket #7' })

    expect((await describeAll('--file', 's.csv', '--template', 't.json')).code).toBe(0)
    expect(await served(7)).toEqual(seven)
  })

  test('fills in the token of a chip where the sheet names chips', async () => {
    const own = {
      ...metadata('Jacket {{tokenId}} of {{uid}}'),
      description: '{{contractAddress}} on {{chainId}}',
      number: '{{tokenId:number}}',
    }
    file('t.json', own)
    file('c.csv', `uid\n${chips.jacket(13)}\n${chips.jacket(14)}\n`)
    const ran = await describeAll('--file', 'c.csv', '--template', 't.json', '--json')
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('2 changed')])
    expect(await served(13)).toEqual({
      ...metadata(`Jacket 13 of ${chips.jacket(13)}`),
      description: `${jackets} on 31337`,
      number: 13,
    })
    expect(await served(14)).toMatchObject({ number: 14 })
    // A chip whose token is not known has nothing to fill in, and nothing is made up.
    file('d.csv', `uid\n${chips.jacket(15)}\n04AABBCCDDEE11\n`)
    const refused = await describeAll('--file', 'd.csv', '--template', 't.json')
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/^row 2, tokenId: the chip's token is not known: .*no such chip/im),
    ])
    expect(refused.stderr.match(/^row 2, tokenId/gm)).toHaveLength(1)
    expect(await served(15)).toMatchObject({ name: 'Jacket #15' })
  })

  test('names the row and the column of a value that is empty or does not fit, and writes nothing', async () => {
    file('t.json', template)
    file(
      'e.csv',
      `uid,tokenId,name,size,weight,note,limited,contractAddress,chainId\n,9,A,,1,,,${jackets},31337\n,10,B,M,heavy,,maybe,${jackets},31337\n`,
    )
    const ran = await describeAll('--file', 'e.csv', '--template', 't.json')
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain('row 1, size: is empty, but the template needs it')
    expect(ran.stderr.match(/row 1, size/g)).toHaveLength(1)
    expect(ran.stderr).toContain('row 2, weight: "heavy" must be a number')
    expect(ran.stderr).toContain('row 2, limited: "maybe" must be true or false')
    expect(await served(9)).toMatchObject({ name: 'Jacket #9' })
    file(
      'e.csv',
      `uid,tokenId,name,size,weight,note,limited,contractAddress,chainId\n,9,A,M,"1,5",,,${jackets},31337\n,10,B,M,1e400,,,${jackets},31337\n`,
    )
    const numbers = await describeAll('--file', 'e.csv', '--template', 't.json')
    expect(numbers.stderr).toContain(
      'row 1, weight: "1,5" must be a number with a point and without commas: 1.5',
    )
    expect(numbers.stderr).toContain('row 2, weight: "1e400" must be a number that programs can read')
    file('colour.json', { ...template, background_color: '{{note}}' })
    file(
      'e.csv',
      `uid,tokenId,name,size,weight,note,limited,contractAddress,chainId\n,9,A,M,1,#FF8800,,${jackets},31337\n`,
    )
    const colour = await describeAll('--file', 'e.csv', '--template', 'colour.json')
    expect([colour.code, colour.stderr]).toEqual([
      2,
      expect.stringMatching(/^row 1.*background_color.*must be six hex digits without #: FF8800/m),
    ])
    file(
      'e.csv',
      `uid,tokenId,name,size,weight,note,limited,contractAddress,chainId\n,9,A,M,,,,${jackets},31337\n`,
    )
    const empty = await describeAll('--file', 'e.csv', '--template', 't.json')
    expect(empty.stderr).toContain('if it may be empty: {{weight:number?}}')
  })

  test('names columns that the sheet lacks, and those that the template does not take', async () => {
    file('t.json', { ...metadata('{{name}}'), description: '{{note?}}' })
    file('m.csv', `contractAddress,chainId,tokenId,title,colour\n${jackets},31337,11,A,red\n`)
    const ran = await describeAll('--file', 'm.csv', '--template', 't.json')
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain('column "name" is missing')
    expect(ran.stderr).toContain('column "note" is missing')
    expect(ran.stderr).toContain('unknown columns "title", "colour"')
    file('m.jsonl', `{"contractAddress":"${jackets}","chainId":31337,"tokenId":"11"}\n`)
    const lines = await describeAll('--file', 'm.jsonl', '--template', 't.json')
    expect([lines.code, lines.stderr]).toEqual([2, expect.stringContaining('row 1, name: is empty')])
    const mapped = await describeAll(
      '--file',
      'm.csv',
      '--template',
      't.json',
      '--map',
      'name=title',
      '--map',
      'note=colour',
    )
    expect([mapped.code, await served(11)]).toEqual([0, { ...metadata('A'), description: 'red' }])
  })

  test.each([
    ['what is no JSON', '{', 'is not JSON'],
    ['what is no object', '[]', 'must contain a single JSON object'],
    ['a field that does not end', { name: 'a {{name' }, 'name: "{{" does not start a field'],
    ['a field without a column', { a: [{ b: '{{ }}' }] }, 'a.0.b: {{ }} names no column'],
    ['a number inside text', { a: 'x {{n:number}}' }, '{{n:number}} must be the whole string'],
    ['a field in a name', { '{{n}}': 1 }, 'only values are filled in'],
  ])('refuses a template with %s', async (_what, content, why) => {
    file('t.json', content)
    file('n.csv', `uid,name\n${chips.jacket(12)},A\n`)
    const ran = await describeAll('--file', 'n.csv', '--template', 't.json')
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(why)])
  })

  test('needs a sheet', async () => {
    expect((await describeAll('--template', 't.json')).code).toBe(2)
    const missing = await describeAll('--file', 'none.csv', '--template', 'none.json')
    expect([missing.code, missing.stderr]).toEqual([
      2,
      'none.json does not exist.\nGive a file: --template FILE\n',
    ])
  })
})
