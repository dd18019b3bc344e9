// Audits a transparency log with Go's packages for transparency logs. Only the request paths are specific to the service.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func check(err error, doing string) {
	if err != nil {
		fmt.Println(doing+":", err)
		os.Exit(1)
	}
}

func get(path string) []byte {
	request, err := http.NewRequest("GET", os.Getenv("ASSAY_URL")+"/api/v1/log/"+path, nil)
	check(err, path)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("ASSAY_TOKEN"))
	response, err := http.DefaultClient.Do(request)
	check(err, path)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	check(err, path)
	if response.StatusCode != 200 {
		fmt.Println(path+":", response.Status)
		os.Exit(1)
	}
	return body
}

// Converts a path of Go's package to the C2SP format, which omits the tile height: tile/8/0/001 becomes tile/0/001.
func toTilePath(tile tlog.Tile) string {
	path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
	return strings.Replace(path, "tile/data/", "tile/entries/", 1)
}

type tiles struct{}

func (tiles) Height() int { return 8 }
func (tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	found := make([][]byte, len(wanted))
	for i, tile := range wanted {
		found[i] = get(toTilePath(tile))
	}
	return found, nil
}
func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func open(signed string, verifier note.Verifier) tlog.Tree {
	opened, err := note.Open([]byte(signed), note.VerifierList(verifier))
	check(err, "checkpoint")
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || lines[0] != verifier.Name() {
		fmt.Println("checkpoint: its origin is not the name of its key")
		os.Exit(1)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err, "size")
	root, err := tlog.ParseHash(lines[2])
	check(err, "root")
	return tlog.Tree{N: size, Hash: root}
}

// Splits a bundle into its entries, each of which is preceded by its length.
func splitBundle(bundle []byte) [][]byte {
	var entries [][]byte
	for len(bundle) > 0 {
		length := int(bundle[0])<<8 | int(bundle[1])
		entries = append(entries, bundle[2:2+length])
		bundle = bundle[2+length:]
	}
	return entries
}

type receipt struct {
	Log struct {
		Index            int64
		Leaf, Checkpoint string
		Proof            []string
	}
}

func checkReceipt(payload string, verifier note.Verifier) {
	var given receipt
	check(json.Unmarshal([]byte(payload), &given), "receipt")
	tree := open(given.Log.Checkpoint, verifier)
	leaf, err := tlog.ParseHash(given.Log.Leaf)
	check(err, "leaf")
	var proof tlog.RecordProof
	for _, text := range given.Log.Proof {
		bytes, err := base64.StdEncoding.DecodeString(text)
		check(err, "proof")
		var hash tlog.Hash
		copy(hash[:], bytes)
		proof = append(proof, hash)
	}
	check(tlog.CheckRecord(proof, tree.N, tree.Hash, given.Log.Index, leaf), "receipt's proof")
}

func main() {
	verifier, err := note.NewVerifier(strings.TrimSpace(string(get("key"))))
	check(err, "key")
	tree := open(string(get("checkpoint")), verifier)
	reader := tlog.TileHashReader(tree, tiles{})

	// The hashes of all entries must result in the signed root.
	var hashes []tlog.Hash
	stored := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			found[i] = hashes[index]
		}
		return found, nil
	})
	for n := int64(0); n < tree.N; {
		width := tree.N - n
		if width > 256 {
			width = 256
		}
		for _, entry := range splitBundle(get(toTilePath(tlog.Tile{H: 8, L: -1, N: n / 256, W: int(width)}))) {
			more, err := tlog.StoredHashes(n, entry, stored)
			check(err, "entries")
			hashes = append(hashes, more...)
			n++
		}
	}
	root, err := tlog.TreeHash(tree.N, stored)
	check(err, "root")
	if root != tree.Hash {
		fmt.Println("the entries do not match the root")
		os.Exit(1)
	}

	// Verifies inclusion proofs that are computed from tiles.
	for n := int64(0); n < tree.N; n = n*2 + 1 {
		proof, err := tlog.ProveRecord(tree.N, n, reader)
		check(err, "proof")
		check(tlog.CheckRecord(proof, tree.N, tree.Hash, n, hashes[tlog.StoredHashIndex(0, n)]), "proof")
	}

	// The earlier signed tree must be a prefix of the current one.
	if before := os.Getenv("BEFORE"); before != "" {
		older := open(before, verifier)
		proof, err := tlog.ProveTree(tree.N, older.N, reader)
		check(err, "consistency")
		check(tlog.CheckTree(proof, tree.N, tree.Hash, older.N, older.Hash), "consistency")
	}
	for _, payload := range strings.Fields(os.Getenv("RECEIPTS")) {
		text, err := base64.StdEncoding.DecodeString(payload)
		check(err, "receipt")
		checkReceipt(string(text), verifier)
	}
	fmt.Println(tree.N, "entries agree")
}
