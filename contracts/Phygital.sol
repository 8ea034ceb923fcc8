// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC4906} from "@openzeppelin/contracts/interfaces/IERC4906.sol";
import {ERC2981} from "@openzeppelin/contracts/token/common/ERC2981.sol";
import {ERC721, IERC165} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";

/// @title NFTs that follow the chip they are tied to
/// @notice A token is minted, and changes hands, by a signature of the sign verifier and in no other way. The signature
/// names its recipient, so anyone may submit it.
contract Phygital is ERC721, IERC4906, Ownable2Step, ERC2981 {
    /// @dev Far more than shares a transaction, and few enough that reading the arrays is cheap.
    uint256 private constant MAX_GROUP = 500;
    bytes32 private constant GROUP_TYPE = keccak256(
        "MintMany(uint256 chainId,address contract,uint256 blockExpiry,address[] recipients,uint256[] tokenIds)"
    );

    /// @notice How many claims a recipient has used. A signature is good for exactly one value of it.
    mapping(address recipient => uint256) public claimNonces;
    /// @notice Who, besides the owner, may announce that metadata changed.
    mapping(address account => bool) public isRefresher;
    /// @notice What `tokenURI` puts before the token id.
    string public baseURI;
    address private _signVerifier;

    event SignVerifierUpdated(address indexed previous, address indexed current);
    event RefresherUpdated(address indexed account, bool allowed);
    event RoyaltyUpdated(address indexed receiver, uint96 basisPoints);
    /// @dev ERC-7572
    event ContractURIUpdated();

    error TransferBySignatureOnly();
    error ApprovalsDisabled();
    error ClaimExpired(uint256 blockExpiry, uint256 blockNumber);
    /// @dev The hash has no field that can be compared, so a used nonce, too, shows as another signer: whoever signed
    /// compares `claimNonce`, the one that counts now, with the one that was signed.
    error WrongSigner(address recovered, uint256 claimNonce);
    error AlreadyMinted(uint256 tokenId);
    /// @dev Lists of different lengths, empty, or too long.
    error WrongGroupSize(uint256 recipients, uint256 tokenIds);
    error WrongGroupSigner(address recovered);
    /// @dev The recipient is a contract that does not take the token.
    error MintRefused(uint256 index, address recipient, uint256 tokenId);
    error NotRefresher(address account);
    error ZeroSignVerifier();

    /// @param serviceURL the service that tells what the tokens are, without a slash at the end. The base URI holds the
    /// contract's own address, and is made here: an address that comes from these arguments cannot be one of them.
    /// @param refreshers none: the owner alone
    /// @param royaltyBasisPoints hundredths of a percent; zero: no royalty
    constructor(
        string memory name_,
        string memory symbol_,
        string memory serviceURL,
        address admin,
        address signVerifier,
        address[] memory refreshers,
        address royaltyReceiver,
        uint96 royaltyBasisPoints
    ) ERC721(name_, symbol_) Ownable(admin) {
        string memory self = Strings.toChecksumHexString(address(this));
        baseURI = string.concat(serviceURL, "/metadata/", Strings.toString(block.chainid), "/", self, "/");
        _setSignVerifier(signVerifier);
        for (uint256 i = 0; i < refreshers.length; ++i) _setRefresher(refreshers[i], true);
        if (royaltyBasisPoints > 0) _setRoyalty(royaltyReceiver, royaltyBasisPoints);
    }

    // Signed claims

    /// @notice Gives a token that nobody has yet to the recipient.
    function mintNFT(bytes calldata sig, uint256 blockExpiry, address recipient, uint256 tokenId) external {
        if (_ownerOf(tokenId) != address(0)) revert AlreadyMinted(tokenId);
        _useClaim(sig, blockExpiry, recipient, tokenId);
        _safeMint(recipient, tokenId);
    }

    /// @notice Moves a token from whoever owns it to the recipient.
    function claimNFT(bytes calldata sig, uint256 blockExpiry, address recipient, uint256 tokenId) external {
        address holder = _requireOwned(tokenId);
        _useClaim(sig, blockExpiry, recipient, tokenId);
        _safeTransfer(holder, recipient, tokenId);
    }

    /// @notice Gives many tokens that nobody has yet to their recipients: all of them, or none.
    /// @dev One signature for the group, which uses no nonce: a token is minted once and cannot be burned, so a second
    /// time it meets `AlreadyMinted`. A recipient that calls back can only make the group fail: what it mints itself is
    /// there before its turn.
    function mintMany(
        bytes calldata sig,
        uint256 blockExpiry,
        address[] calldata recipients,
        uint256[] calldata tokenIds
    ) external {
        uint256 size = tokenIds.length;
        if (size == 0 || size > MAX_GROUP || size != recipients.length) revert WrongGroupSize(recipients.length, size);
        if (block.number >= blockExpiry) revert ClaimExpired(blockExpiry, block.number);
        _checkGroup(sig, blockExpiry, keccak256(abi.encodePacked(recipients)), keccak256(abi.encodePacked(tokenIds)));
        for (uint256 i = 0; i < size; ++i) {
            address recipient = recipients[i];
            uint256 tokenId = tokenIds[i];
            if (recipient == address(0)) revert ERC721InvalidReceiver(recipient);
            // As `_mint` does, with one look at the owner.
            if (super._update(recipient, tokenId, address(0)) != address(0)) revert AlreadyMinted(tokenId);
            if (recipient.code.length > 0 && !_takes(recipient, tokenId)) revert MintRefused(i, recipient, tokenId);
        }
    }

    /// @dev Six words, of which the first is the type: no claim, whose hash is over 136 bytes, has the hash of a group.
    function _checkGroup(bytes calldata sig, uint256 blockExpiry, bytes32 recipients, bytes32 tokenIds) private view {
        bytes32 group = keccak256(
            abi.encode(GROUP_TYPE, block.chainid, address(this), blockExpiry, recipients, tokenIds)
        );
        address signer = ECDSA.recoverCalldata(MessageHashUtils.toEthSignedMessageHash(group), sig);
        if (signer != _signVerifier) revert WrongGroupSigner(signer);
    }

    /// @dev What else the recipient says is not worth its gas: minted alone, its own words come through.
    function _takes(address recipient, uint256 tokenId) private returns (bool) {
        bytes4 wanted = IERC721Receiver.onERC721Received.selector;
        (bool ok, bytes memory answer) = recipient.call(abi.encodeWithSelector(wanted, msg.sender, address(0), tokenId, ""));
        return ok && answer.length >= 32 && abi.decode(answer, (bytes32)) == bytes32(wanted);
    }

    function getClaimNonce(address recipient) external view returns (uint256) {
        return claimNonces[recipient];
    }

    function getSignVerifier() external view returns (address) {
        return _signVerifier;
    }

    /// @dev The nonce rises before the recipient's code runs, so a recipient that calls back cannot use it twice.
    function _useClaim(bytes calldata sig, uint256 blockExpiry, address recipient, uint256 tokenId) private {
        if (block.number >= blockExpiry) revert ClaimExpired(blockExpiry, block.number);
        uint256 nonce = claimNonces[recipient]++;
        bytes32 claim = keccak256(abi.encodePacked(blockExpiry, recipient, tokenId, address(this), nonce));
        address signer = ECDSA.recoverCalldata(MessageHashUtils.toEthSignedMessageHash(claim), sig);
        if (signer != _signVerifier) revert WrongSigner(signer, nonce);
    }

    // Every other way to move a token: the ones that ERC-721 offers name who asks, the claims above do not.

    function _update(address to, uint256 tokenId, address auth) internal override returns (address) {
        if (auth != address(0)) revert TransferBySignatureOnly();
        return super._update(to, tokenId, auth);
    }

    /// @dev No approval exists, so there is none to clear when a token moves.
    function _approve(address, uint256, address auth, bool) internal pure override {
        if (auth != address(0)) revert ApprovalsDisabled();
    }

    function _setApprovalForAll(address, address, bool) internal pure override {
        revert ApprovalsDisabled();
    }

    // Metadata

    /// @notice Tells marketplaces that a token's metadata changed.
    function refreshMetadata(uint256 tokenId) external {
        _checkRefresher();
        emit MetadataUpdate(tokenId);
    }

    /// @notice The same for many tokens, whatever their ids.
    function refreshMetadataBatch(uint256[] calldata tokenIds) external {
        _checkRefresher();
        for (uint256 i = 0; i < tokenIds.length; ++i) emit MetadataUpdate(tokenIds[i]);
    }

    /// @notice The same for all tokens from the one id to the other, both included.
    function refreshMetadataRange(uint256 fromTokenId, uint256 toTokenId) external {
        _checkRefresher();
        emit BatchMetadataUpdate(fromTokenId, toTokenId);
    }

    /// @notice The same for the collection's own metadata.
    function refreshContractURI() external {
        _checkRefresher();
        emit ContractURIUpdated();
    }

    /// @notice ERC-7572: the collection's own metadata stands beside that of its tokens.
    function contractURI() external view returns (string memory) {
        return string.concat(baseURI, "contract");
    }

    function _baseURI() internal view override returns (string memory) {
        return baseURI;
    }

    function supportsInterface(bytes4 interfaceId) public view override(ERC721, ERC2981, IERC165) returns (bool) {
        // ERC-4906 has events only, so its id cannot be computed from the interface. The other is ours: groups.
        return interfaceId == 0x49064906 || interfaceId == this.mintMany.selector || super.supportsInterface(interfaceId);
    }

    // Administration

    function setBaseURI(string calldata baseURI_) external onlyOwner {
        baseURI = baseURI_;
        emit BatchMetadataUpdate(0, type(uint256).max);
        emit ContractURIUpdated();
    }

    /// @notice Signatures of the old one are void from here on.
    function setSignVerifier(address signVerifier) external onlyOwner {
        _setSignVerifier(signVerifier);
    }

    function setRefresher(address account, bool allowed) external onlyOwner {
        _setRefresher(account, allowed);
    }

    /// @notice ERC-2981, the same for all tokens. The collection's own metadata repeats it.
    /// @param basisPoints hundredths of a percent; zero: none, whoever would receive it
    function setRoyalty(address receiver, uint96 basisPoints) external onlyOwner {
        _setRoyalty(receiver, basisPoints);
        emit ContractURIUpdated();
    }

    function _setSignVerifier(address signVerifier) private {
        if (signVerifier == address(0)) revert ZeroSignVerifier();
        emit SignVerifierUpdated(_signVerifier, signVerifier);
        _signVerifier = signVerifier;
    }

    function _setRefresher(address account, bool allowed) private {
        isRefresher[account] = allowed;
        emit RefresherUpdated(account, allowed);
    }

    function _setRoyalty(address receiver, uint96 basisPoints) private {
        if (basisPoints == 0) _deleteDefaultRoyalty();
        else _setDefaultRoyalty(receiver, basisPoints);
        emit RoyaltyUpdated(receiver, basisPoints);
    }

    function _checkRefresher() private view {
        if (!isRefresher[msg.sender] && msg.sender != owner()) revert NotRefresher(msg.sender);
    }
}
