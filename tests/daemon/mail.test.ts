import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { emailAddress } from '../../src/daemon/domain/reservations/secrets.ts'
import { type MailJob, MailQueue } from '../../src/daemon/mail/queue.ts'
import { createMailServer, type Mail } from '../../src/daemon/mail/smtp.ts'

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

/** A mail server that does what it is told, which a sound one never would. */
async function badServer(greet: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    greet(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const auth = { user: 'tags', pass: 'hush-hush' }
  const from = { name: 'Acme', address: 'tags@acme.example' }
  return { host: '127.0.0.1', port, isSecure: false, isLocal: true, auth, from }
}
const answering =
  (answers: Record<string, string>) =>
  (socket: Socket): void => {
    socket.write('220 mail.test\r\n')
    socket.on('data', (chunk: Buffer) => {
      const [word = ''] = chunk.toString().split(/[\s:]/)
      socket.write(`${answers[word.toUpperCase()] ?? '250 fine'}\r\n`)
    })
  }

const mail: Mail = {
  to: 'anna@example.org',
  subject: 'Kept',
  text: 'Kept',
  html: '<p>Kept</p>',
  language: 'en',
  messageId: 'one@acme.example',
  senderName: undefined,
}

describe('a mail server that', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['accepts and says nothing', () => undefined],
    [
      'sends a byte now and then',
      (socket) => {
        const timer = setInterval(() => socket.write('2'), 20)
        socket.on('close', () => clearInterval(timer))
      },
    ],
    ['turns away whoever connects', (socket: Socket) => void socket.write('554 come back later\r\n')],
    ['does not greet back', answering({ EHLO: '550 no', HELO: '550 no' })],
    ['hangs in the middle', answering({ EHLO: '250 AUTH PLAIN', AUTH: '' })],
  ])('%s is given up, and the mail is tried again', async (_, greet) => {
    const server = createMailServer(await badServer(greet), { withinMs: 300 })
    expect(await server.send(mail)).toMatchObject({ kind: 'retry' })
    expect(await server.check()).toMatch(/mail server/)
  })

  test('refuses the password is named without it, and all mails wait', async () => {
    const settings = await badServer(answering({ EHLO: '250 AUTH PLAIN', AUTH: '535 no: hush-hush' }))
    const server = createMailServer(settings, { withinMs: 3000 })
    const result = await server.send(mail)
    expect(result).toMatchObject({ kind: 'retry', scope: 'server' })
    expect(await server.check()).toContain('check user and password')
    expect(JSON.stringify(result)).not.toMatch(/hush|anna/)
  })

  test('names the address in its answer is not quoted', async () => {
    const settings = await badServer(
      answering({ EHLO: '250 AUTH PLAIN', AUTH: '235 in', RCPT: '550 anna@example.org is nobody' }),
    )
    const result = await createMailServer(settings, { withinMs: 3000 }).send(mail)
    expect(result).toMatchObject({ kind: 'refused', reason: expect.stringContaining('550') })
    expect(JSON.stringify(result)).not.toContain('anna')
  })
})

test('a mail is tried a dozen times and then given up, with longer and longer pauses', async () => {
  let now = 0
  let due = 0
  const said: string[] = []
  const pauses: number[] = []
  let job: MailJob | undefined = { id: 1, attempts: 0, until: Number.MAX_SAFE_INTEGER, mail }
  const queue = new MailQueue({
    server: {
      send: async () => ({ kind: 'retry', scope: 'mail', reason: 'the mail server answered 451' }),
      check: async () => undefined,
    },
    clock: { now: () => now, monotonic: () => now },
    tried: (outcome) => said.push(outcome),
    failed: (error) => {
      throw error
    },
    store: {
      due: async (at) => (job && due <= at ? [job] : []),
      isTried: async () => true,
      sent: async () => undefined,
      later: async ({ attempts }, at) => {
        pauses.push(at - now)
        due = at
        job = job && { ...job, attempts: attempts + 1 }
      },
      giveUp: async () => {
        job = undefined
      },
    },
  })
  for (let round = 0; round < 40; round += 1) {
    await queue.tick()
    now = Math.max(now, due)
  }
  expect(said).toHaveLength(12)
  expect(pauses).toEqual([...pauses].sort((one, other) => one - other))
  expect(job).toBeUndefined()
})

describe('an address', () => {
  test.each([
    ['anna@example.org', 'anna@example.org'],
    ['  Anna+tag@Example.ORG ', 'Anna+tag@example.org'],
    ['jörg@bücher.example', 'jörg@xn--bcher-kva.example'],
  ])('%s is taken as %s', (typed, address) => expect(emailAddress(typed)).toBe(address))

  test.each([
    'anna',
    'anna@',
    '@example.org',
    'anna@localhost',
    'anna@127.0.0.1',
    'anna@[127.0.0.1]',
    'anna@example.org\r\nBcc: all@example.org',
    'anna@example.org\nBcc: all@example.org',
    'anna\r\nRCPT TO:<all@example.org>@example.org',
    'anna@example.org, all@example.org',
    'anna@example.org;all@example.org',
    'Anna <anna@example.org>',
    '"anna x"@example.org',
    'anna@example.org\u0000',
    'an\u202ena@example.org',
    'anna@exa mple.org',
    `${'a'.repeat(65)}@example.org`,
    `anna@${'a'.repeat(250)}.org`,
    '.anna@example.org',
    'an..na@example.org',
  ])('%j is refused', (typed) => expect(() => emailAddress(typed)).toThrow('not an e-mail address'))
})
