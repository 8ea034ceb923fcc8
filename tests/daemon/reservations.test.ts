import { getAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cleanUp } from '../../src/daemon/domain/operations/housekeeping.ts'
import { askForCode } from '../../src/daemon/domain/reservations/ask.ts'
import { linkHashOf } from '../../src/daemon/domain/reservations/secrets.ts'
import { findVisit } from '../../src/daemon/domain/tap-page/visit.ts'
import { findReservationByLink } from '../../src/daemon/store/reservations/reservations.ts'
import { allSettled, testClock } from '../support/daemon.ts'
import { startMailServer, type TestMailServer } from '../support/mail-server.ts'
import { bob, carol, chips, openPhygitals, type Phygitals, phygitalSeed } from '../support/phygitals.ts'
import { digitsIn, keep, pathIn, sendForm, show } from '../support/reservations.ts'
import { Browser } from '../support/tap-browser.ts'

let server: TestMailServer
let p: Phygitals
const clock = testClock()
const env = () => ({ TAPCHIP_SMTP_URL: server.url, TAPCHIP_SMTP_FROM: 'Acme Tags <tags@acme.example>' })

beforeAll(async () => {
  server = await startMailServer()
  p = await openPhygitals({ clock, seed: phygitalSeed, env: env() })
})
afterAll(async () => {
  await p.close()
  await server.stop()
})

describe('a piece kept by e-mail', () => {
  test('is kept with six digits, shown to others as kept, and goes to the wallet that the link names', async () => {
    const mints = async () => (await p.transactions()).filter(({ kind }) => kind === 'phygital-mint').length
    const before = await mints()
    const browser = new Browser(p)
    const page = await browser.tap(chips.unminted(1), 1)
    expect(await show(browser, page)).toContain('data-action="reserve"')
    expect((await sendForm(browser, page, { email: 'Anna@Example.org' })).statusCode).toBe(303)
    const mail = await server.newest(1)
    expect(mail.headers).toMatchObject({
      to: 'Anna@example.org',
      'auto-submitted': 'auto-generated',
      from: 'Acme Tags <tags@acme.example>',
    })
    const asked = await show(browser, page)
    expect(asked).toContain('name="code"')
    const code = digitsIn(mail.text)
    const wrong = await sendForm(browser, page, { code: code === '000000' ? '000001' : '000000' })
    expect(wrong.statusCode).toBe(400)
    expect(wrong.body).toContain('4 tries are left')
    expect((await sendForm(browser, page, { code })).statusCode).toBe(303)
    expect(await show(browser, page)).toContain('data-state="confirmed"')

    const other = new Browser(p)
    const second = await other.tap(chips.unminted(1), 2)
    expect(await other.states(second)).toMatchObject({ 'claim-0': { is: 'closed', reason: 'kept' } })
    expect(await other.press(second, { kind: 'claim', recipient: carol })).toMatchObject({ status: 409 })

    const path = pathIn((await server.newest(2)).text)
    for (const method of ['GET', 'HEAD', 'GET'] as const)
      expect((await p.app.inject({ method, url: path })).statusCode).toBe(200)
    const form = await p.app.inject({ url: path })
    expect(form.body).toContain('name="recipient"')
    expect(form.headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' })
    const ten = await Promise.all(Array.from({ length: 10 }, () => browser.post(path, { recipient: bob })))
    expect(ten.map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 10 }, () => 303))
    await allSettled(p.ctx)
    const rows = await p.ctx.db.read.selectFrom('reservations').selectAll().execute()
    expect(rows).toMatchObject([{ state: 'done', address: null, addressHash: null }])
    const done = await p.app.inject({ url: path })
    expect(done.body).toContain('data-state="confirmed"')
    expect(done.body).toContain(getAddress(bob))
    expect(await mints()).toBe(before + 1)
  })
})

describe('what bounds it', () => {
  test('ten confirmations at once keep it once, and ten that ask at once for one address send five mails', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(1), 1)
    const before = server.mails().length
    await sendForm(browser, page, { email: 'ten@example.org' })
    const code = digitsIn((await server.newest(before + 1)).text)
    await Promise.all(Array.from({ length: 10 }, () => sendForm(browser, page, { code })))
    await server.newest(before + 2)
    const links = (rows: { kind: string }[]) => rows.filter(({ kind }) => kind === 'link').length
    const { tapId } = await p.ctx.db.read
      .selectFrom('reservations')
      .select('tapId')
      .orderBy('tapId', 'desc')
      .executeTakeFirstOrThrow()
    const mails = await p.ctx.db.read.selectFrom('mails').selectAll().where('tapId', '=', tapId).execute()
    expect(links(mails)).toBe(1)

    const pages = await Promise.all(
      Array.from({ length: 10 }, async (_, n) => {
        const one = new Browser(p)
        return { one, page: await one.tap(chips.jacket(n + 2), 1) }
      }),
    )
    const answers = await Promise.all(
      pages.map(({ one, page }, n) => sendForm(one, page, { email: `flood+${n}@example.org` })),
    )
    const statuses = answers.map(({ statusCode }) => statusCode).sort()
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429, 429, 429, 429, 429])
    const refused = answers.find(({ statusCode }) => statusCode === 429)
    expect(refused?.body).toContain('Too many emails were asked for')
    expect(refused?.headers['retry-after']).toBe('3600')
    // The next test counts mails.
    await server.newest(before + 7)
  })

  test('a thousand requests for one address, of as many taps, chips, and networks, leave five mails and no other trace', async () => {
    const rows = async () => {
      const { read } = p.ctx.db
      const tables = ['reservations', 'mails', 'mailQuotas'] as const
      return Promise.all(
        tables.map(async (name) => (await read.selectFrom(name).selectAll().execute()).length),
      )
    }
    const page = await new Browser(p).tap(chips.jacket(14), 1)
    const { tap } = await findVisit(p.ctx, page.ref)
    const before = await rows()
    const ask = (n: number) =>
      askForCode(
        p.ctx,
        { ...tap, tapId: 1_000_000 + n, uid: String(n) },
        { email: `One.Address+${n}@example.org`, language: 'en', client: `network ${n}` },
      )
    const asked: PromiseSettledResult<number>[] = []
    // No more at once than a server has room for.
    while (asked.length < 1000)
      asked.push(...(await Promise.allSettled(Array.from({ length: 50 }, (_, n) => ask(asked.length + n)))))
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    for (const one of asked)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'rate_limited' })
    const after = await rows()
    // Counted for the address, and for five chips and networks.
    expect(after.map((count, at) => count - (before[at] ?? 0))).toEqual([5, 5, 11])
    p.ctx.mailing?.queue.wake()
    await expect
      .poll(() => server.mails().filter(({ headers }) => /^One\.Address/.test(headers.to ?? '')).length)
      .toBe(5)
  })

  test('after 90 days the address is forgotten, the piece free, and the link says so', async () => {
    const browser = new Browser(p)
    const path = await keep(server, browser, await browser.tap(chips.jacket(15), 1), 'late@example.org')
    clock.advance('89d')
    expect((await p.app.inject({ url: path })).statusCode).toBe(200)
    clock.advance('2d')
    await cleanUp(p.ctx)
    const over = await p.app.inject({ url: path })
    expect(over.statusCode).toBe(410)
    expect(over.body).toContain('no longer kept for you')
    const rows = await p.ctx.db.read
      .selectFrom('reservations')
      .selectAll()
      .where('linkHash', '=', linkHashOf(path.slice(-32)))
      .execute()
    expect(rows).toMatchObject([{ state: 'ended', address: null, addressHash: null }])
    const other = new Browser(p)
    expect(await other.states(await other.tap(chips.jacket(15), 2))).toEqual({ 'claim-0': { is: 'open' } })
  })

  test('a chip that is disabled and enabled again releases the piece, and the link says so', async () => {
    const uid = chips.jacket(16)
    const browser = new Browser(p)
    const path = await keep(server, browser, await browser.tap(uid, 1), 'released@example.org')
    const other = new Browser(p)
    expect(await other.states(await other.tap(uid, 2))).toMatchObject({ 'claim-0': { reason: 'kept' } })
    for (const act of ['disable', 'enable'])
      await p.app.inject({
        ...{ method: 'POST', url: `/admin/chips/${uid}/${act}`, payload: {} },
        headers: p.admin,
      })
    expect((await p.app.inject({ url: path })).statusCode).toBe(410)
    expect(await other.states(await other.tap(uid, 3))).toEqual({ 'claim-0': { is: 'open' } })
    await cleanUp(p.ctx)
    const row = await findReservationByLink(p.ctx.db.read, { linkHash: linkHashOf(path.slice(-32)) })
    expect(row).toMatchObject({ state: 'ended', address: null, addressHash: null })
  })

  test('a tap gets five mails, and the page says that the code of the newest stays good', async () => {
    const browser = new Browser(p)
    const page = await browser.tap(chips.jacket(17), 1)
    await p.app.inject({
      ...{ method: 'PUT', url: '/admin/pages/strings', headers: p.admin },
      payload: { team: 'Acme', strings: { en: { 'mail.code': 'Type\r\nthis:' } } },
    })
    const before = server.mails().length
    for (const n of [1, 2, 3, 4, 5])
      expect((await sendForm(browser, page, { email: `mail${n}@example.org` })).statusCode).toBe(303)
    const sixth = await sendForm(browser, page, { email: 'mail6@example.org' })
    expect(sixth.statusCode).toBe(429)
    expect(sixth.body).toContain('Too many emails were asked for')
    expect(sixth.body).not.toMatch(/name="code"[^>]* aria-invalid|<p>\d tries are left/)
    expect(sixth.body).toMatch(/<details open>[\s\S]*name="email"[^>]* aria-invalid/)
    const fifth = await server.newest(before + 5)
    expect(fifth.text).toContain('this:')
    const code = digitsIn(fifth.text)
    const answers = await Promise.all([1, 2, 3].map(() => sendForm(browser, page, { code })))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([303, 303, 303])
  })
})
