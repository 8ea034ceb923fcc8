// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title A wallet that says yes to what its keeper signed (ERC-1271)
contract KeptWallet is IERC1271, ERC721Holder {
    address private immutable _keeper;

    constructor(address keeper) {
        _keeper = keeper;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (address signer, , ) = ECDSA.tryRecoverCalldata(hash, signature);
        return signer == _keeper ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}
