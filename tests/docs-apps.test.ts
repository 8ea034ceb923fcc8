import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../dist/client.js'
import { DomainError, type ErrorCode } from '../src/daemon/domain/errors/errors.ts'
import { answerTo } from '../src/daemon/http/errors.ts'
import { allSettled, startTestDaemon } from './support/daemon.ts'
import { tap, tapPath } from './support/taps.ts'

// A developer copies the page of the apps. All that it shows is run here, against a daemon with the page's own seed.

const root = resolve(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/apps.md'), 'utf8')
const blocks = [...page.matchAll(/^(?:<!-- with: (.+) -->\n)?```(\w+)\n([\s\S]*?)^```$/gm)].map(
  ([, given, language, text = '']) => ({ given, language, text }),
)
const [seedText = ''] = blocks.flatMap(({ language, text }) => (language === 'json' ? [text] : []))
const seed = JSON.parse(seedText)
const uid: string = seed.teams[0].chipGroups[0].chips[0].uid
const ME = 'bram.eth'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
const folder = mkdtempSync(join(tmpdir(), 'tapchip-apps-'))
beforeAll(async () => {
  const [team] = seed.teams
  // Two taps that need no waiting.
  const contracts = [{ ...team.contracts[0], twoTap: { delaySeconds: 0, windowSeconds: 3600 } }]
  daemon = await startTestDaemon({ seed: { ...seed, teams: [{ ...team, contracts }] }, chain: true })
})
afterAll(async () => {
  await daemon.stop()
  rmSync(folder, { recursive: true, force: true })
})

let counter = 0
/** Taps the chip. @returns the ref with which it sends the phone on */
async function newRef(): Promise<string> {
  const answer = await fetch(daemon.url + tapPath(tap(seed.keySets[0], { uid }, ++counter)), {
    redirect: 'manual',
  })
  return /svcRef=(.+)$/.exec(answer.headers.get('location') ?? '')?.[1] ?? ''
}

type Values = Readonly<Record<string, string | number>>

/** What each marked block takes. Every run gets its own, since codes are single-use. */
async function valuesFor(given: string, run: number): Promise<Values> {
  const TAPCHIP = daemon.url
  if (given === 'ref' || given === 'client') return { TAPCHIP, REF: await newRef(), ME }
  const client = createClient({ baseUrl: TAPCHIP })
  const tapped = async () => client.getRef({ id: await newRef() })
  const { linkedToken, badgeEvents, guestbookEvents } = await tapped()
  const first = { TAPCHIP, ME, CODE: linkedToken?.otp ?? '' }
  // A token that moved once moves again, to somebody else.
  const other = { ...first, ME: `0x${String(run + 1).padStart(40, '1')}` }
  switch (given) {
    case 'claim code':
      return first
    case 'claim code after a registration': {
      await client.createClaimRegistrationWithCode({ code: other.CODE, recipient: other.ME })
      return { ...other, CODE: (await tapped()).linkedToken?.otp ?? '' }
    }
    case 'token': {
      const { contractAddress = '', chainId = 0, tokenId = '' } = linkedToken ?? {}
      return { TAPCHIP, ME: other.ME, CONTRACT: contractAddress, CHAIN: chainId, TOKEN: tokenId }
    }
    case 'badge code':
      return { ...other, CODE: badgeEvents[0]?.otp ?? '', EVENT: badgeEvents[0]?.id ?? 0 }
    case 'guestbook code':
      return { ...other, CODE: guestbookEvents[0]?.otp ?? '' }
    case 'hash': {
      const code = guestbookEvents[0]?.otp ?? ''
      const { txnHash } = await client.mintGuestbookTokenWithCode({ code, recipient: other.ME })
      await allSettled(daemon.ctx)
      return { TAPCHIP, HASH: txnHash }
    }
    default:
      throw new Error(`docs/apps.md: nobody knows what "${given}" is`)
  }
}

const runShell = async (text: string, values: Values): Promise<unknown> => {
  const env = {
    ...process.env,
    ...Object.fromEntries(Object.entries(values).map(([k, v]) => [k, String(v)])),
  }
  const { stdout } = await promisify(execFile)('bash', ['-euc', text], { env })
  return JSON.parse(stdout)
}

let modules = 0
const runModule = async (text: string, values: Values): Promise<unknown> => {
  const constants = Object.entries(values).map(
    ([name, value]) => `const ${name} = ${JSON.stringify(value)}\n`,
  )
  const built = pathToFileURL(join(root, 'dist/client.js')).href
  const file = join(folder, `block-${++modules}.mjs`)
  writeFileSync(
    file,
    `${constants.join('')}${text.replace("'tapchip/client'", `'${built}'`)}\nexport { answer }`,
  )
  return (await import(/* @vite-ignore */ pathToFileURL(file).href)).answer
}

/** The names of all fields, at any depth. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]))
}

describe('docs/apps.md', () => {
  const marked = blocks.flatMap((block, index) =>
    block.given === undefined ? [] : [{ given: block.given, index, heading: headingBefore(block.text) }],
  )

  test('shows each request with curl and with fetch', () => {
    const pairs = marked.filter(({ given }) => given !== 'client')
    expect(pairs.length).toBeGreaterThan(7)
    for (const { index } of pairs)
      expect(blocks.slice(index, index + 3).map(({ language }) => language)).toEqual(['sh', 'js', 'json'])
  })

  test.each(marked)('is right about $heading', async ({ given, index }) => {
    const [one, two, shown] = blocks.slice(index, index + 3)
    if (given === 'client') {
      const answer = await runModule(one?.text ?? '', await valuesFor(given, index))
      expect(answer).toMatchObject({ allowedAt: expect.any(String) })
      return
    }
    const expected = shapeOf(JSON.parse(shown?.text ?? ''))
    const answers = [
      await runShell(one?.text ?? '', await valuesFor(given, index)),
      await runModule(two?.text ?? '', await valuesFor(given, index + 1)),
    ]
    for (const answer of answers) expect(shapeOf(answer)).toEqual(expected)
  })

  test('keeps a ref that is asked for twice at once from being lost', async () => {
    const block = blocks.find(({ text }) => text.includes('export function getRef'))
    const id = await newRef()
    const stored =
      'const kept = {}; const sessionStorage = { getItem: (k) => kept[k], setItem: (k, v) => { kept[k] = v } }\n'
    const answer = (await runModule(
      `${stored}${block?.text}\nconst answer = [...(await Promise.all([getRef('${id}'), getRef('${id}')])), await getRef('${id}')].map((ref) => ref.isValidRef)`,
      { TAPCHIP: daemon.url },
    )) as boolean[]
    expect(answer).toEqual([true, true, true])
  })

  test('names error codes that exist, under their statuses', () => {
    const rows = [...page.matchAll(/^\| (\d{3}) (`[a-z_]+`[^|]*)\|/gm)]
    const named = rows.flatMap(([, status, cell = '']) =>
      [...cell.matchAll(/(?:(\d{3}) )?`([a-z_]+)`/g)].map(
        ([, own, code = '']) => [code, Number(own ?? status)] as const,
      ),
    )
    expect(named.length).toBeGreaterThan(15)
    const statusOf = (code: string) => answerTo(new DomainError(code as ErrorCode, ''), '').body.statusCode
    expect(named.filter(([code = '', status]) => statusOf(code) !== status)).toEqual([])
  })

  test('holds the example app, file by file', () => {
    const files = ['seed.json', 'server.mjs', 'index.html']
    const texts = files.map((name) => readFileSync(join(root, 'examples/claim-page', name), 'utf8'))
    for (const [index, text] of texts.entries())
      expect(
        blocks.some((block) => block.text === text),
        `${files[index]} is not in docs/apps.md`,
      ).toBe(true)
  })
})

function headingBefore(text: string): string {
  const before = page.slice(0, page.indexOf(text))
  return /.*\n## ([^\n]+)/s.exec(before)?.[1] ?? ''
}
