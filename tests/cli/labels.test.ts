import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { uidFromBytes, uidToColons } from '../../src/nfc/uid.ts'
import { type CliHome, ends, withDaemon } from '../support/cli.ts'
import type { TestDaemon } from '../support/daemon.ts'
import { readPdf } from '../support/labels.ts'
import { keySets, nfcSeed } from '../support/nfc.ts'
import { png } from '../support/poap/image-bytes.ts'

let here: CliHome
let daemon: TestDaemon
withDaemon({ seed: nfcSeed }, (home, its) => {
  here = home
  daemon = its
})

let made = 0
const newUids = (count: number) =>
  Array.from({ length: count }, () =>
    uidFromBytes(Buffer.from(`04${(++made * 7919).toString(16).padStart(12, '0')}`, 'hex')),
  )
const print = (...args: string[]) => here.run('labels', 'print', '--out', 'out.pdf', ...args)
const pages = () => readPdf(readFileSync(join(here.home, 'out.pdf')))
const sheet = (name: string, lines: readonly string[]) => {
  writeFileSync(join(here.home, name), lines.join('\n'))
  return name
}
const batchIn = (text: string) => /b_[0-9a-z]{14}/.exec(text)?.[0] ?? ''
/** @returns the id of the batch */
const imported = async (group: string, lines: readonly string[]) =>
  batchIn(
    (
      await here.run(
        'chips',
        'import',
        '--file',
        sheet('in.csv', lines),
        '--chip-group',
        group,
        '--key-set',
        '201',
        '--yes',
      )
    ).stderr,
  )

test('the labels of a box are those of its sheet, in the order of its rows', async () => {
  const file = sheet('box.csv', [
    'label,item,variant',
    'Coat 1,jacket,s',
    'Mütze – „Größe L“ €,jacket,',
    'Coat 4,,',
  ])
  const { stdout, stderr } = await here.run(
    ...['nfc', 'provision', '--key-set', String(keySets.a.id), '--chip-group', 'Box', '--file', file],
    ...['--reader', 'emulator', '--accept-url', '--json'],
  )
  const uids = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { uid: string }).uid)
  expect(uids).toHaveLength(3)

  const printed = await print('--batch', batchIn(stderr), '--json')
  expect([printed.code, printed.json()]).toEqual([0, { out: 'out.pdf', labels: 3, pages: 1 }])
  const [page] = pages()
  expect(page?.codes).toEqual(uids)
  expect(page?.size.map((points) => Math.round((points * 25.4) / 72))).toEqual([210, 297])
  for (const text of ['Coat 1', 'Jacket, S', 'Coat 4', ...uids, ...uids.map(uidToColons)])
    expect(page?.text).toContain(text)

  // A chip that failed, and was recovered later; and a CLI that was killed after the last chip was registered did not write its line.
  const box = join(here.home, '.local/state/tapchip/batches', `${batchIn(stderr)}.jsonl`)
  const lines = readFileSync(box, 'utf8').trim().split('\n')
  const isOfLast = (line: string) => line.includes(uids[2] ?? '') && line.includes('"result"')
  const cut = lines.filter((line) => !isOfLast(line) && !line.startsWith('{"type":"closed"'))
  expect(lines.length - cut.length).toBe(2)
  const failed = cut.map((line) =>
    line.includes(uids[0] ?? '') ? line.replace('"status":"provisioned"', '"status":"failed"') : line,
  )
  expect(failed).not.toEqual(cut)
  writeFileSync(box, `${failed.join('\n')}\n`)
  ends(await print('--batch', batchIn(stderr), '--yes'), 0, '3 labels')
  expect(pages()[0]?.codes).toEqual(uids)

  // With an address of the daemon, which is the same page for each chip, and for none.
  writeFileSync(join(here.home, 'cut.png'), png().subarray(0, 60))
  for (const [logo, why] of [
    [sheet('logo.svg', ['<svg/>']), 'is not an image'],
    ['cut.png', 'cut.png is incomplete'],
  ] as const)
    ends(await print('--batch', batchIn(stderr), '--yes', '--logo', logo), 2, why)
  writeFileSync(join(here.home, 'logo.png'), png())
  const roll = ['--format', 'roll', '--size', '50x30', '--qr', 'page', '--logo', 'logo.png']
  ends(
    await print('--batch', batchIn(stderr), ...roll),
    2,
    'out.pdf exists. Overwrite it? Confirm with --yes',
  )
  const rolled = await print('--batch', batchIn(stderr), ...roll, '--yes')
  ends(rolled, 0, '3 labels on 3 pages')
  expect(rolled.stderr).toContain(`lead to ${daemon.url}, which no phone can open`)
  expect(
    pages().map(({ codes, images, size }) => [
      codes,
      images,
      size.map((points) => Math.round((points * 25.4) / 72)),
    ]),
  ).toEqual(uids.map((uid) => [[`${daemon.url}/t/${uid}`], 1, [50, 30]]))
  const answers = await Promise.all(
    [`${daemon.url}/t/${uids[0]}`, `${daemon.url}/t/1`].map((url) => fetch(url)),
  )
  const [ofChip = '', ofNone = ''] = await Promise.all(answers.map((answer) => answer.text()))
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  const withoutNonce = (html: string) => html.replace(/nonce="[^"]+"/g, '')
  expect(withoutNonce(ofChip)).toBe(withoutNonce(ofNone))
  expect(ofChip).toContain('Hold your phone to the chip')
})

test('the labels of an import are those of the chips that there are, once each, in its order', async () => {
  const [a = '', b = '', c = '', d = ''] = newUids(4)
  const [other = '', same = ''] = newUids(2)
  await imported('Imported', ['uid,label', `${other},Taken`, `${same},`])
  const id = await imported('Imported', [
    'uid,label',
    `${d},d`,
    `${uidToColons(b)},b`,
    `${a},a`,
    `${c},Taken`,
    `${same},`,
  ])
  // A chip that was moved since is still one of the batch; what failed is not, and what is gone cannot be.
  await here.json('chips', 'move', b, '--chip-group', 'Jackets', '--yes')
  expect([(await print('--batch', id)).code, pages()[0]?.codes]).toEqual([0, [d, b, a, same]])
  await here.json('chips', 'remove', a, '--yes')
  ends(await print('--batch', id, '--yes'), 3, '1 chip of the batch is not registered any more')
  expect(pages()[0]?.codes).toEqual([d, b, same])
  // The batch that set their redirect URLs is about them as well.
  const edited = await here.run(
    'chips',
    'edit',
    '--file',
    sheet('e.csv', ['uid,redirectUrl', `${b},https://a.example`, `${d},`]),
  )
  ends(await print('--batch', batchIn(edited.stderr), '--yes'), 0, '2 labels')
  expect(pages()[0]?.codes).toEqual([b, d])
})

test('a group of many is written on sheets of 21, of which the first may be used in part', async () => {
  // Sorted as people count, while the UIDs say otherwise.
  const uids = newUids(60).reverse()
  await imported('Many', [
    'uid,label',
    ...uids.map(
      (uid, i) =>
        `${uid},${i < 20 ? 'A coat' : 'A label that is longer and longer '.repeat(1 + Math.floor(i / 20))}${i}`,
    ),
  ])
  ends(await print('--chip-group', 'Many', '--skip', '20'), 0, '60 labels on 4 pages')
  const drawn = pages()
  expect(drawn.map(({ codes }) => codes.length)).toEqual([1, 21, 21, 17])
  expect(drawn.flatMap(({ codes }) => codes)).toEqual(uids)
  const [last] = drawn[0]?.corners ?? []
  const [first, next] = drawn[1]?.corners ?? []
  // The dark part of a code is as far from the edges of its label everywhere.
  expect([(last?.x ?? 0) - (first?.x ?? 0), (last?.y ?? 0) - (first?.y ?? 0)].map(Math.round)).toEqual([
    132, 229,
  ])
  expect((next?.x ?? 0) - (first?.x ?? 0)).toBeCloseTo(66, 2)
  expect(first?.x).toBeGreaterThan(7.25)
})

test('what no font has is refused with its label, until a font has it', async () => {
  const [a = '', b = ''] = newUids(2)
  await imported('Signs', ['uid,label', `${a},Coat`, `${b},\u{ea60}`])
  const refused = await print('--chip-group', 'Signs')
  ends(
    refused,
    2,
    `the built-in font does not have: "\u{ea60}" (${uidToColons(b)}): "\u{ea60}" (U+EA60). Nothing was written.`,
  )
  expect(refused.stderr).toContain('--font FILE.ttf')
  expect(readdirSync(here.home).filter((name) => name.startsWith('out.pdf'))).toEqual([])
  const folder = resolve(import.meta.dirname, '../../node_modules/playwright-core/lib/vite/recorder/assets')
  const font = join(folder, readdirSync(folder).find((name) => name.endsWith('.ttf')) ?? '')
  ends(await print('--chip-group', 'Signs', '--font', font), 0, '2 labels')
  expect(pages()[0]?.codes).toEqual([a, b])
  expect(readFileSync(join(here.home, 'out.pdf'), 'latin1')).toContain('/FontFile2')
  ends(
    await print('--chip-group', 'Signs', '--yes', '--font', sheet('no.ttf', ['nothing'])),
    2,
    'is not a font',
  )
})

test.each([
  [[], 'one of the two'],
  [['--batch', 'b_1', '--chip-group', 'Jackets'], 'one of the two'],
  [['--batch', 'b_1'], 'There is no batch "b_1"'],
  [['--chip-group', 'Jackets', '--size', '62x29'], '--size is for --format roll'],
  [
    ['--chip-group', 'Jackets', '--format', 'roll', '--size', '9x9'],
    'in millimetres, as in 62x29, not "9x9"',
  ],
  [['--chip-group', 'Jackets', '--format', 'roll', '--skip', '1'], '--skip is for sheets'],
  [['--chip-group', 'Jackets', '--logo', 'nowhere.png'], 'nowhere.png cannot be read'],
])('labels print %j is refused, and leaves no file', async (args, words) => {
  const ran = await print(...args)
  expect([ran.code === 0, ran.stderr]).toEqual([false, expect.stringContaining(words)])
  expect(existsSync(join(here.home, 'out.pdf'))).toBe(false)
})

test('a group without chips is said, and a batch that names none', async () => {
  await here.json('chip-groups', 'create', '--name', 'Empty')
  ends(
    await print('--chip-group', 'Empty'),
    1,
    'The group has no chips to print labels for. Nothing was written.',
  )
  ends(await print('--chip-group', 'Nobody'), 1, 'chip group')
  const items = await here.run('items', 'edit', '--file', sheet('i.csv', ['id,name', 'jacket,Coat']))
  ends(await print('--batch', batchIn(items.stderr)), 2, 'names no chips')
  expect(existsSync(join(here.home, 'out.pdf'))).toBe(false)
})

test('the built program draws them too, in both weights', () => {
  const { PDFDocument } = createRequire(import.meta.url)('../../dist/labels.cjs')
  const page = new PDFDocument()
  for (const font of ['Helvetica', 'Helvetica-Bold']) page.font(font).text('FJ-0001')
  page.end()
})
