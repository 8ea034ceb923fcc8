import { type CcipRequestParameters, type Hex, isHex } from 'viem'
import type { SendRequest } from '../../outbound/outbound.ts'

/** The message has the reason of each gateway. */
class GatewaysFailed extends Error {
  override readonly name = 'GatewaysFailed'
}

// A contract can name any number of gateways.
const mostGateways = 8

/**
 * Sends an ERC-3668 request to gateways in their order until one answers: replaces viem's `ccipRead.request`,
 * which would call `fetch`.
 * @throws GatewaysFailed
 */
export function guardedCcipRequest(fetchGateway: SendRequest) {
  return async ({ data, sender, urls }: CcipRequestParameters): Promise<Hex> => {
    const reasons: string[] = []
    for (const template of urls.slice(0, mostGateways)) {
      try {
        return await ask(fetchGateway, template, { data, sender: sender.toLowerCase() })
      } catch (error) {
        reasons.push(error instanceof Error ? error.message : 'unknown')
      }
    }
    throw new GatewaysFailed(reasons.join('; ') || 'no gateway is named')
  }
}

async function ask(
  fetchGateway: SendRequest,
  template: string,
  question: { data: Hex; sender: string },
): Promise<Hex> {
  const url = template.replaceAll('{sender}', question.sender).replaceAll('{data}', question.data)
  const answer = await fetchGateway(
    template.includes('{data}')
      ? { url, method: 'GET', headers: {} }
      : {
          url,
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(question),
        },
  )
  const { origin } = new URL(url)
  if (answer.status < 200 || answer.status > 299) throw new Error(`${origin} answers ${answer.status}`)
  const text = answer.body.toString()
  const data = String(answer.headers['content-type'] ?? '').startsWith('application/json')
    ? dataIn(text)
    : text
  if (!isHex(data)) throw new Error(`${origin} answers something that is not hex data`)
  return data
}

function dataIn(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && 'data' in parsed ? parsed.data : undefined
  } catch {
    return undefined
  }
}
