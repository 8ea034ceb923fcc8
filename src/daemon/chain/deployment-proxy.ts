import type { Address } from 'viem'

/**
 * The deterministic deployment proxy: salt and creation code in, a contract out. It stands at this address on every
 * chain that people use, and on anvil from the first block. github.com/Arachnid/deterministic-deployment-proxy
 */
export const deploymentProxy: Address = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
