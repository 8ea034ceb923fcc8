import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'

let answer = '{}'
let server: Server
let here: CliHome
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.setHeader('content-type', 'application/json').end(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => void server.close())
beforeEach(() => {
  const { port } = server.address() as AddressInfo
  const TAPCHIP_URL = `http://127.0.0.1:${port}`
  here = cliHome({ TAPCHIP_URL, TAPCHIP_API_KEY: 'key', TAPCHIP_ADMIN_TOKEN: 'token' })
})
afterEach(() => here.remove())

const commands = [
  'chips list --chip-group G',
  'chips show 049893CAAA1190',
  'chip-groups list',
  'chips edit --chip-group G --redirect-url https://example.com/ --yes',
  'items list',
  'badge-events list',
  'guestbook list',
  'taps list',
  'audit list',
  'transactions list',
  'key-sets list',
  'teams list',
]

// A proxy or another program on the port.
test.each(['{}', '[]', '7', 'null', '"text"', '<html>Welcome</html>'])(
  'a server that answers %s to everything is not taken for a daemon',
  async (given) => {
    answer = given
    for (const command of commands) {
      const { code, stderr } = await here.run(...command.split(' '))
      const text = `${command}: ${stderr}`
      expect(text).not.toMatch(/is not a function|is not iterable|Cannot read|undefined/)
      if (given !== '[]')
        expect([command, code === 0 || /is not a Tapchip daemon|There is no|has no/.test(stderr)]).toEqual([
          command,
          true,
        ])
    }
  },
)
