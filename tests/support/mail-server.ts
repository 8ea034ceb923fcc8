import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { eximPath } from '../../scripts/test-tools.mjs'

export interface ReceivedMail {
  /** As it was transferred. */
  raw: string
  /** Headers, unfolded, by name in lower case. */
  headers: Record<string, string>
  /** The plain text, decoded. */
  text: string
}

/** A mail server of one's own: a real Exim. It keeps everything; `nobody@…` is refused, `later@…` put off. */
export interface TestMailServer {
  url: string
  port: number
  mails(): ReceivedMail[]
  /** The newest of `count` mails, once there are that many. */
  newest(count: number): Promise<ReceivedMail>
  /** It accepts connections, and says nothing. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

const configuration = (folder: string, port: number) => `primary_hostname = mail.test
spool_directory = ${folder}/spool
log_file_path = ${folder}/log/%slog
pid_file_path = ${folder}/exim.pid
tls_advertise_hosts =
host_lookup =
rfc1413_query_timeout = 0s
disable_ipv6 = true
daemon_smtp_ports = ${port}
local_interfaces = 127.0.0.1
keep_environment =
smtp_accept_max = 100
acl_smtp_rcpt = rcpt
acl_smtp_data = accept
smtputf8_advertise_hosts = *
qualify_domain = mail.test
never_users =
deliver_drop_privilege = true
begin acl
rcpt:
  deny local_parts = nobody
  defer local_parts = later
  accept
begin routers
all:
  driver = accept
  transport = maildir
begin transports
maildir:
  driver = appendfile
  directory = ${folder}/mail
  maildir_format = true
  create_directory = true
  mode = 0644
  directory_mode = 0755
`

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

export async function startMailServer(): Promise<TestMailServer> {
  if (!eximPath) throw new Error('There is no exim4: run node scripts/install-mail.mjs')
  const folder = mkdtempSync(join(tmpdir(), 'tapchip-mail-'))
  chmodSync(folder, 0o755)
  for (const name of ['spool', 'log', 'mail']) {
    mkdirSync(join(folder, name))
    // Exim gives up root's rights.
    chmodSync(join(folder, name), 0o777)
  }
  const port = await freePort()
  writeFileSync(join(folder, 'exim.conf'), configuration(folder, port))
  const exim = spawn(eximPath, ['-C', join(folder, 'exim.conf'), '-bdf', '-odi'], { stdio: 'ignore' })
  const log = join(folder, 'log', 'mainlog')
  await vi.waitUntil(() => existsSync(log) && readFileSync(log, 'utf8').includes('listening'), {
    timeout: 20_000,
  })
  const inbox = join(folder, 'mail', 'new')
  const mails = () =>
    existsSync(inbox)
      ? readdirSync(inbox)
          .sort((one, other) => timeOf(one) - timeOf(other))
          .map((name) => readMail(readFileSync(join(inbox, name), 'utf8')))
      : []
  return {
    url: `smtp://127.0.0.1:${port}`,
    port,
    mails,
    newest: async (count) => {
      await vi.waitUntil(() => mails().length >= count, { timeout: 20_000 })
      const mail = mails().at(-1)
      if (!mail) throw new Error('no mail')
      return mail
    },
    pause: () => void exim.kill('SIGSTOP'),
    resume: () => void exim.kill('SIGCONT'),
    stop: async () => {
      exim.kill('SIGCONT')
      if (exim.exitCode === null && exim.signalCode === null) {
        exim.kill('SIGTERM')
        await once(exim, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The name of a file begins with seconds and microseconds. */
function timeOf(name: string): number {
  const [, seconds = '0', microseconds = '0'] = /^(\d+)\.M(\d+)/.exec(name) ?? []
  return Number(seconds) * 1e6 + Number(microseconds)
}

function readMail(raw: string): ReceivedMail {
  const text = raw.replace(/\r\n/g, '\n')
  const end = text.indexOf('\n\n')
  const headers = Object.fromEntries(
    text
      .slice(0, end)
      .replace(/\n[ \t]+/g, ' ')
      .split('\n')
      .map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), words(line.slice(colon + 1).trim())]
      }),
  )
  const plain = /Content-Type: text\/plain[^\n]*\nContent-Transfer-Encoding: (\S+)\n\n([\s\S]*?)\n--/.exec(
    text,
  )
  return { raw, headers, text: decoded(plain?.[2] ?? '', plain?.[1] ?? '') }
}

/** Encoded words of RFC 2047. */
const words = (text: string): string =>
  text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([QB])\?([^?]*)\?=/gi, (_, how: string, word: string) =>
      how.toUpperCase() === 'B'
        ? Buffer.from(word, 'base64').toString()
        : decoded(word.replace(/_/g, ' '), 'quoted-printable'),
    )

function decoded(text: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString()
  if (encoding !== 'quoted-printable') return text
  const joined = text.replace(/=\n/g, '')
  return Buffer.from(
    joined.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString()
}
