// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// @title A collection as a team has it: roles and approvals instead of signed claims
contract TeamToken is ERC721, AccessControl {
    enum Mood {
        Normal,
        /// Calls succeed and do nothing.
        Silent,
        Closed,
        /// Reverts with 100 kB.
        Flood
    }

    bytes32 public constant MINTER_ROLE = keccak256("MINTER_ROLE");
    bytes32 public constant COURIER_ROLE = keccak256("COURIER_ROLE");
    Mood private _mood;

    error ShopIsClosed(string why, uint256 until);

    constructor(address admin) ERC721("Team", "TEAM") {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
    }

    function behave(Mood mood) external {
        _mood = mood;
    }

    function mintTo(address to, uint256 tokenId) external onlyRole(MINTER_ROLE) {
        if (_acts()) _mint(to, tokenId);
    }

    function mintTo(address to, uint256 tokenId, string calldata) external onlyRole(MINTER_ROLE) {
        if (_acts()) _mint(to, tokenId);
    }

    function mint(address to) external onlyRole(MINTER_ROLE) {
        _mint(to, uint256(keccak256(abi.encode(to))));
    }

    /// @notice Moves any token, whoever has it.
    function deliver(address to, uint256 tokenId) external onlyRole(COURIER_ROLE) {
        if (_acts()) _update(to, tokenId, address(0));
    }

    function deliver(uint256 tokenId, address to) external onlyRole(COURIER_ROLE) {
        if (_acts()) _update(to, tokenId, address(0));
    }

    function transferFrom(address from, address to, uint256 tokenId) public override {
        if (_acts()) super.transferFrom(from, to, tokenId);
    }

    function supportsInterface(bytes4 id) public view override(ERC721, AccessControl) returns (bool) {
        return super.supportsInterface(id);
    }

    function _acts() private view returns (bool) {
        if (_mood == Mood.Closed) revert ShopIsClosed(unicode"\u001b[31m<b>holiday</b>\u202e", 7);
        if (_mood == Mood.Flood) {
            assembly ("memory-safe") {
                revert(0, 100000)
            }
        }
        return _mood == Mood.Normal;
    }
}
