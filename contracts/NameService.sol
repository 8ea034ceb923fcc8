// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Names on a dev chain
/// @notice Answers what clients ask ENS's universal resolver, from a table. Gateways are never asked.
contract NameService is Ownable {
    mapping(bytes32 node => address) private _addresses;
    mapping(bytes32 node => string) private _names;
    mapping(address account => bytes32 node) private _primary;

    event NameSet(string name, address indexed account);

    // ENS's own errors: clients take them for "no such name".
    error ResolverNotFound(bytes name);
    error UnsupportedResolverProfile(bytes4 selector);

    constructor(address admin) Ownable(admin) {}

    /// @notice Points a normalised name to an address, and the address back to it; the zero address removes the name.
    function setName(string calldata name, address account) external onlyOwner {
        bytes32 node = namehash(name);
        _addresses[node] = account;
        _names[node] = name;
        _primary[account] = node;
        emit NameSet(name, account);
    }

    /// @param data addr(bytes32 node), or addr(bytes32 node, uint256 coinType)
    function resolveWithGateways(
        bytes calldata name,
        bytes calldata data,
        string[] calldata
    ) external view returns (bytes memory, address) {
        address account = _addresses[bytes32(data[4:36])];
        if (account == address(0)) revert ResolverNotFound(name);
        if (bytes4(data) == 0x3b3b57de) return (abi.encode(account), address(this));
        if (bytes4(data) != 0xf1cb7e06) revert UnsupportedResolverProfile(bytes4(data));
        _checkCoinType(uint256(bytes32(data[36:68])));
        return (abi.encode(abi.encodePacked(account)), address(this));
    }

    function reverseWithGateways(
        bytes calldata account,
        uint256 coinType,
        string[] calldata
    ) external view returns (string memory name, address resolver, address reverseResolver) {
        _checkCoinType(coinType);
        bytes32 node = _primary[address(bytes20(account))];
        // A name that points elsewhere by now is not this address's name.
        if (_addresses[node] == address(bytes20(account))) name = _names[node];
        return (name, address(this), address(this));
    }

    /// @notice ENSIP-1
    function namehash(string calldata name) public pure returns (bytes32 node) {
        bytes calldata text = bytes(name);
        uint256 end = text.length;
        for (uint256 i = end; end > 0; --i) {
            if (i > 0 && text[i - 1] != ".") continue;
            node = keccak256(abi.encodePacked(node, keccak256(text[i:end])));
            if (i == 0) break;
            end = i - 1;
        }
    }

    /// @dev ENSIP-11: Ethereum itself, and this chain.
    function _checkCoinType(uint256 coinType) private view {
        if (coinType != 60 && coinType != (0x80000000 | block.chainid))
            revert UnsupportedResolverProfile(0xf1cb7e06);
    }
}
