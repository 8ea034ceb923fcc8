// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ERC1155Burnable} from "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155Burnable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";

/// @title A guestbook: each event is an ERC-1155 token id, each guest gets one
/// @notice Deployed once, then cloned (EIP-1167) by the factory, so every value lives in storage that `initialize` sets.
contract Guestbook is ERC1155Burnable, Ownable2Step {
    struct Mint {
        address to;
        uint256 tokenId;
        /// The caller's own name for this one mint: it happens once, however often it is sent.
        bytes32 intentId;
    }

    /// @dev A mint takes about 60,000; the rest is for what a wallet contract does when it receives.
    uint256 private constant BATCH_ITEM_GAS = 250_000;

    address private immutable _factory;

    string public name;
    string public symbol;
    /// @notice The service that tells what the tokens are, without a slash at the end: short, since storage is dear.
    string public serviceURL;
    /// @notice While true, tokens do not move between holders. Mints and burns go on.
    bool public paused;
    mapping(address account => bool) public isMinter;
    mapping(uint256 tokenId => bool) public eventExists;
    mapping(bytes32 intentId => bool) public intentDone;

    event EventCreated(uint256 indexed tokenId);
    /// @notice The mint was done before; this time nothing happened.
    event IntentAlreadyDone(bytes32 indexed intentId);
    /// @notice The recipient is a contract that does not take the token. The intent is not done.
    event MintRefused(bytes32 indexed intentId, address indexed to, uint256 indexed tokenId);
    event MinterUpdated(address indexed account, bool allowed);
    event Paused(address account);
    event Unpaused(address account);
    /// @dev ERC-7572
    event ContractURIUpdated();

    error FactoryOnly();
    error NotMinter(address account);
    error ZeroAddress();
    error ZeroIntentId();
    error EventAlreadyExists(uint256 tokenId);
    error EventUnknown(uint256 tokenId);
    error TransfersPaused();
    error NotEnoughGas(uint256 index);
    error SelfOnly();

    modifier onlyMinter() {
        if (!isMinter[msg.sender]) revert NotMinter(msg.sender);
        _;
    }

    /// @dev The factory makes this implementation, and owns it to no end: it is nobody's guestbook.
    constructor() ERC1155("") Ownable(msg.sender) {
        _factory = msg.sender;
    }

    /// @dev The factory calls this in the transaction that makes the clone, and never again; that needs no storage.
    function initialize(
        string calldata name_,
        string calldata symbol_,
        string calldata serviceURL_,
        address admin,
        address minter
    ) external {
        if (msg.sender != _factory) revert FactoryOnly();
        if (admin == address(0) || minter == address(0)) revert ZeroAddress();
        name = name_;
        symbol = symbol_;
        serviceURL = serviceURL_;
        _transferOwnership(admin);
        _setMinter(minter, true);
    }

    // Events and mints

    function createEvent(uint256 tokenId) external onlyMinter {
        if (eventExists[tokenId]) revert EventAlreadyExists(tokenId);
        eventExists[tokenId] = true;
        emit EventCreated(tokenId);
        emit URI(uri(tokenId), tokenId);
    }

    /// @notice One token of an event. A repeated intent id does nothing, and does not revert.
    function mint(address to, uint256 tokenId, bytes32 intentId) external onlyMinter {
        _mintOnce(Mint(to, tokenId, intentId));
    }

    /// @notice Many at once. A recipient that refuses its token is named by `MintRefused`, and the others get theirs; an
    /// entry that could not be right (no recipient, no event, no intent id) refuses the whole batch.
    function mintBatch(Mint[] calldata mints) external onlyMinter {
        for (uint256 i = 0; i < mints.length; ++i) {
            Mint calldata entry = mints[i];
            if (entry.to.code.length == 0) {
                _mintOnce(entry);
                continue;
            }
            _checkMint(entry);
            // 63/64 of what is left can go along (EIP-150). Without this check an estimate would settle on too little
            // gas, and recipients would seem to refuse.
            if ((gasleft() * 63) / 64 < BATCH_ITEM_GAS + 10_000) revert NotEnoughGas(i);
            try this.mintFromBatch{gas: BATCH_ITEM_GAS}(entry) {} catch {
                emit MintRefused(entry.intentId, entry.to, entry.tokenId);
            }
        }
    }

    /// @dev A call of its own, so that a recipient's refusal undoes its own mint alone.
    function mintFromBatch(Mint calldata entry) external {
        if (msg.sender != address(this)) revert SelfOnly();
        _mintOnce(entry);
    }

    /// @dev The intent is marked before the recipient's code runs.
    function _mintOnce(Mint memory entry) private {
        _checkMint(entry);
        if (intentDone[entry.intentId]) {
            emit IntentAlreadyDone(entry.intentId);
            return;
        }
        intentDone[entry.intentId] = true;
        _mint(entry.to, entry.tokenId, 1, "");
    }

    function _checkMint(Mint memory entry) private view {
        if (entry.to == address(0)) revert ZeroAddress();
        if (entry.intentId == 0) revert ZeroIntentId();
        if (!eventExists[entry.tokenId]) revert EventUnknown(entry.tokenId);
    }

    function _update(address from, address to, uint256[] memory ids, uint256[] memory values) internal override {
        if (paused && from != address(0) && to != address(0)) revert TransfersPaused();
        super._update(from, to, ids, values);
    }

    // Metadata

    function uri(uint256 tokenId) public view override returns (string memory) {
        return string.concat(_place(), Strings.toString(tokenId));
    }

    /// @notice ERC-7572: the guestbook's own metadata stands beside that of its events.
    function contractURI() external view returns (string memory) {
        return string.concat(_place(), "contract");
    }

    /// @notice Tells marketplaces that the metadata of events changed.
    function refreshMetadata(uint256[] calldata tokenIds) external onlyMinter {
        _emitURIs(tokenIds);
    }

    function _place() private view returns (string memory) {
        string memory self = Strings.toChecksumHexString(address(this));
        return string.concat(serviceURL, "/metadata/", Strings.toString(block.chainid), "/", self, "/");
    }

    function _emitURIs(uint256[] calldata tokenIds) private {
        for (uint256 i = 0; i < tokenIds.length; ++i) {
            if (!eventExists[tokenIds[i]]) revert EventUnknown(tokenIds[i]);
            emit URI(uri(tokenIds[i]), tokenIds[i]);
        }
    }

    // Administration

    /// @notice Setting what is set already does no harm.
    function setPaused(bool paused_) external onlyOwner {
        paused = paused_;
        if (paused_) emit Paused(msg.sender);
        else emit Unpaused(msg.sender);
    }

    /// @param tokenIds all events of this guestbook, since ERC-1155 wants an event for each URI that changes
    function setServiceURL(string calldata serviceURL_, uint256[] calldata tokenIds) external onlyOwner {
        serviceURL = serviceURL_;
        emit ContractURIUpdated();
        _emitURIs(tokenIds);
    }

    function setMinter(address account, bool allowed) external onlyOwner {
        _setMinter(account, allowed);
    }

    function _setMinter(address account, bool allowed) private {
        isMinter[account] = allowed;
        emit MinterUpdated(account, allowed);
    }
}
