// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

import {KeptWallet} from "./KeptWallet.sol";

/// @title Deploys wallets where nobody else can (CREATE2), and does worse things when it is asked to
contract WalletFactory {
    error NotToday();

    function deploy(address keeper) external returns (address) {
        return address(new KeptWallet{salt: bytes32(0)}(keeper));
    }

    function refuse() external pure {
        revert NotToday();
    }

    function burnGas() external pure {
        while (true) {}
    }

    /// @notice Answers with a million bytes.
    function shout() external pure {
        assembly {
            return(0, 1000000)
        }
    }

    /// @notice Succeeds and does nothing.
    function idle() external pure {}
}
