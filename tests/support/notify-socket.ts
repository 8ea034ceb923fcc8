import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** A socket as systemd opens one for a service: Node has no datagram sockets of this kind, Python has. */
const program = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = sys.argv[1]
s.bind('\\0' + name[1:] if name.startswith('@') else name)
print('bound', flush=True)
while True:
    print(repr(s.recv(65536).decode()), flush=True)
`

export interface NotifySocket {
  /** What came, a list of lines a message, without the barriers of systemd-notify. */
  readonly messages: readonly (readonly string[])[]
  until(line: RegExp): Promise<void>
  close(): Promise<void>
}

/** @param name a path, or `@` and the name of an abstract socket */
export async function openNotifySocket(name: string): Promise<NotifySocket> {
  const child: ChildProcess = spawn('python3', ['-c', program, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (!child.stdout) throw new Error('it has no standard output')
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  const messages: string[][] = []
  let look = () => {}
  lines.on('line', (text) => {
    const parts = text
      .slice(1, -1)
      .split('\\n')
      .filter((part) => part !== '')
    if (parts[0] !== 'BARRIER=1') messages.push(parts)
    look()
  })
  return {
    messages,
    until: (line) =>
      new Promise((resolve) => {
        look = () => messages.flat().some((one) => line.test(one)) && resolve()
        look()
      }),
    close: async () => {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}
