// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Guestbook} from "./Guestbook.sol";

/// @title Makes guestbooks, each a clone of one implementation
/// @notice A guestbook's address comes from everything that it is deployed with. So a repeated deployment, by whomever,
/// finds the one that is there, and nobody can take an address by deploying first with another admin.
contract GuestbookFactory {
    struct Deployment {
        bytes32 salt;
        string name;
        string symbol;
        string serviceURL;
        address admin;
        address minter;
    }

    address public immutable implementation = address(new Guestbook());

    event GuestbookDeployed(address indexed guestbook, bytes32 indexed salt, address indexed admin);

    /// @return guestbook the new one, or the one that was deployed with the same values before
    function deploy(Deployment calldata deployment) external returns (address guestbook) {
        bytes32 salt = _salt(deployment);
        guestbook = Clones.predictDeterministicAddress(implementation, salt);
        if (guestbook.code.length > 0) return guestbook;
        Clones.cloneDeterministic(implementation, salt);
        Guestbook(guestbook).initialize(
            deployment.name,
            deployment.symbol,
            deployment.serviceURL,
            deployment.admin,
            deployment.minter
        );
        emit GuestbookDeployed(guestbook, deployment.salt, deployment.admin);
    }

    /// @notice Where a guestbook is, or will be.
    function addressOf(Deployment calldata deployment) public view returns (address) {
        return Clones.predictDeterministicAddress(implementation, _salt(deployment));
    }

    function _salt(Deployment calldata deployment) private pure returns (bytes32) {
        return keccak256(abi.encode(deployment));
    }
}
