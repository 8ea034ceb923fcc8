import { getAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testClock } from '../support/daemon.ts'
import { bob, carol, chips, openPhygitals, type Phygitals, phygitalSeed } from '../support/phygitals.ts'
import { Browser } from '../support/tap-browser.ts'

const week = 604_800
const [acme, other] = phygitalSeed.teams
const slow = {
  ...phygitalSeed,
  teams: [
    {
      ...acme,
      contracts: acme?.contracts?.map((contract) =>
        contract.symbol === 'ART'
          ? { ...contract, twoTap: { delaySeconds: week, windowSeconds: week } }
          : contract,
      ),
    },
    other,
  ],
}

let p: Phygitals
const clock = testClock()
beforeAll(async () => {
  p = await openPhygitals({ clock, seed: slow })
})
afterAll(() => p.close())

const cardOf = ({ body }: { body: { cards: { key: string; html: string }[] } }, key: string) =>
  body.cards.find((card) => card.key === key)?.html ?? ''
const check = async (browser: Browser, ref: string, kind: string, recipient: string) =>
  (await browser.post('/t/check', { ref, kind, id: '0', recipient })).json().html

test('ten phones that register the same wallet at once keep one time', async () => {
  const browsers = Array.from({ length: 10 }, () => new Browser(p))
  const pages: Awaited<ReturnType<Browser['tap']>>[] = []
  for (const [index, browser] of browsers.entries()) pages.push(await browser.tap(chips.art(1), index + 1))
  const answers = await Promise.all(
    browsers.map(async (browser, index) => {
      clock.advance('1s')
      for (;;) {
        const fields = { kind: 'register', recipient: bob }
        const answer = await browser.press(pages[index] ?? { ref: '', query: '' }, fields)
        // A slow machine's database may not get to all ten in time; nothing is used up then.
        if (answer.status !== 503) return answer
      }
    }),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  const states = await Promise.all(
    browsers.map((browser, index) => browser.states(pages[index] ?? { ref: '' })),
  )
  expect(new Set(states.map((state) => JSON.stringify(state['claim-0']))).size).toBe(1)
  const rows = await p.ctx.db.read.selectFrom('claimRegistrations').selectAll().execute()
  expect(rows).toHaveLength(1)
})

test('a registration says before and after the press what becomes of the wait, in days, with a calendar file', async () => {
  const [one, two] = [new Browser(p), new Browser(p)]
  const first = await one.tap(chips.art(2), 1)
  expect(await check(one, first.ref, 'register', 'bob.eth')).toContain('the wait begins anew: 7 days.')
  const pressed = await one.press(first, { kind: 'register', recipient: 'bob.eth' })
  expect(pressed.html).toMatch(/Registered for <bdi class="name">bob\.eth<.*The wait begins anew/s)
  const claim = cardOf(pressed, 'claim-0')
  const opensAt = new Date(clock.now() + week * 1000).toISOString()
  expect(claim).toContain('The claim opens in 7 days, on <time ')
  expect(claim).toContain(`data-at="${opensAt}"`)
  expect(claim).not.toMatch(/\d{3}:\d\d:\d\d|\d{4,} minutes|\(UTC\)/)

  clock.advance('1d')
  const second = await two.tap(chips.art(2), 2)
  expect(await check(two, second.ref, 'register', bob)).toContain('stays registered as it is')
  expect(await check(two, second.ref, 'register', carol)).toContain('begins anew')
  const again = await two.press(second, { kind: 'register', recipient: bob })
  expect(again.html).toContain('It was registered before')
  expect(cardOf(again, 'claim-0')).toContain(`The claim opens in 6 days, on <time datetime="${opensAt}"`)

  const path = /href="([^"]*\.ics[^"]*)"/.exec(claim)?.[1]?.replaceAll('&amp;', '&') ?? ''
  for (const secret of [first.ref, bob, getAddress(bob), 'bob.eth', ...one.cookies.values()])
    expect(path).not.toContain(secret)
  const file = await p.app.inject({ url: path })
  expect([file.statusCode, file.headers['content-type']]).toEqual([200, 'text/calendar; charset=utf-8'])
  const lines = file.body.split('\r\n')
  expect(Math.max(...lines.map((line) => Buffer.byteLength(line)))).toBeLessThanOrEqual(75)
  expect(file.body.length).toBeLessThan(2000)
  const start = new Date(Math.ceil(Date.parse(opensAt) / 1000) * 1000)
  expect(lines).toContain(`DTSTART:${start.toISOString().replace(/[-:]|\.000/g, '')}`)
  expect(lines).toEqual(expect.arrayContaining(['BEGIN:VALARM', 'ACTION:DISPLAY', 'END:VCALENDAR']))
  const uid = (text: string) => /^UID:.*$/m.exec(text)?.[0]
  clock.advance('1h')
  expect(uid((await p.app.inject({ url: path })).body)).toBe(uid(file.body))
  for (const forged of [path.replace('at=1', 'at=2'), path.replace('name=', 'name=X'), '/t/opens.ics'])
    expect((await p.app.inject({ url: forged })).statusCode).toBe(404)
})

test('of two tabs the later one is told that another entry counts, and a piece that is nobody’s says so', async () => {
  const browser = new Browser(p)
  const page = await browser.tap(chips.jacket(1), 1)
  expect(page.answer.body).toMatch(/If it is yours now, enter your wallet/)
  await browser.press(page, { kind: 'claim', recipient: 'bob.eth' })
  const late = await browser.press(page, { kind: 'claim', recipient: carol })
  expect(late.status).toBe(409)
  expect(late.html).toMatch(/data-too-late.*another wallet was entered/s)
  expect(late.html).toContain('<bdi class="name">bob.eth</bdi>')
  const unminted = await new Browser(p).tap(chips.unminted(1), 1)
  expect(unminted.answer.body).toContain('nobody yet')
})
