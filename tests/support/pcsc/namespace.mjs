// Runs in namespaces of its own (mounts, network, processes): holds a pcscd with virtual readers, and lets the tests
// outside reach them. What it is told and says are lines; when nobody is left to talk to, it ends, and all with it.
//
//                → ready       the readers' sockets are there
//   start        → started
//   start --debug → started     what it logs comes as lines as well
//   kill, freeze → exited, frozen   SIGKILL, SIGSTOP
//
// <folder>/run is where pcscd has its socket, <folder>/readers its configuration, <folder>/slot-<n>.sock leads to the
// n-th virtual reader: one connection is one card in its field.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'

const [folder, ...ports] = process.argv.slice(2)
const say = (line) => process.stdout.write(`${line}\n`)
const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })

// A user's namespace may not make folders in the real /run; and pcscd's socket has a fixed place.
run('mount', '-t', 'tmpfs', 'tmpfs', '/run')
run('mkdir', '/run/pcscd')
run('mount', '--bind', `${folder}/run`, '/run/pcscd')
run('ip', 'link', 'set', 'lo', 'up')
// The driver sends a command's length and its bytes apart: Nagle and delayed acknowledgements cost 44 ms each.
const quick = 'local 127.0.0.1 dev lo proto kernel scope host src 127.0.0.1 table local quickack 1'
run('ip', 'route', 'replace', ...quick.split(' '))

for (const [slot, port] of ports.entries()) {
  const server = createServer((card) => {
    const reader = connect(Number(port), '127.0.0.1').setNoDelay()
    card.pipe(reader).pipe(card)
    // Either end's going is a card that is lifted, or a reader that went.
    for (const end of [card, reader]) {
      end.on('error', () => undefined)
      end.on('close', () => {
        card.destroy()
        reader.destroy()
      })
    }
  })
  server.listen(`${folder}/slot-${slot}.sock`)
  await once(server, 'listening')
}

let pcscd

/** Whether every thread of a process of this namespace stands still. */
const stands = (pid) =>
  readdirSync(`/proc/${pid}/task`).every((thread) =>
    /^State:\s+[Tt]/m.test(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8')),
  )

const commands = {
  start(level = '--critical') {
    pcscd = spawn('pcscd', ['--foreground', level, '--config', `${folder}/readers`], {
      stdio: ['ignore', level === '--debug' ? 'inherit' : 'ignore', 'inherit'],
      // Real readers that are plugged in are none of ours: no driver for USB is found.
      env: { PATH: process.env.PATH, PCSCLITE_HP_DROPDIR: `${folder}/no-drivers` },
    })
    pcscd.on('exit', () => say('exited'))
    pcscd.on('spawn', () => say('started'))
  },
  kill: () => pcscd.kill('SIGKILL'),
  async freeze() {
    pcscd.kill('SIGSTOP')
    // The /proc that is there tells of the processes outside.
    run('mount', '-t', 'proc', 'proc', '/proc')
    // The signal is sent, but a thread on the other core may answer yet one command.
    while (!stands(pcscd.pid)) await new Promise((resolve) => setTimeout(resolve, 1))
    say('frozen')
  },
}
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const [command, ...options] = line.split(' ')
    commands[command](...options)
  })
  .on('close', () => process.exit())
say('ready')
