// Reads a log as an auditor would, with Go's own packages for transparency logs: nothing in it is ours but the paths.
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

// Go's tiles carry their height in the path, and `data` for entries: tile/8/0/001 is C2SP's tile/0/001.
func pathOf(tile tlog.Tile) string {
	path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
	return strings.Replace(path, "tile/data/", "tile/entries/", 1)
}

type tiles struct{}

func (tiles) Height() int { return 8 }
func (tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	found := make([][]byte, len(wanted))
	for i, tile := range wanted {
		found[i] = get(pathOf(tile))
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

// The entries of a bundle, each behind its length.
func entriesOf(bundle []byte) [][]byte {
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

	// Every entry, hashed anew, makes the root that was signed.
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
		for _, entry := range entriesOf(get(pathOf(tlog.Tile{H: 8, L: -1, N: n / 256, W: int(width)}))) {
			more, err := tlog.StoredHashes(n, entry, stored)
			check(err, "entries")
			hashes = append(hashes, more...)
			n++
		}
	}
	root, err := tlog.TreeHash(tree.N, stored)
	check(err, "root")
	if root != tree.Hash {
		fmt.Println("the entries do not make the root")
		os.Exit(1)
	}

	// Some of them are proven from tiles.
	for n := int64(0); n < tree.N; n = n*2 + 1 {
		proof, err := tlog.ProveRecord(tree.N, n, reader)
		check(err, "proof")
		check(tlog.CheckRecord(proof, tree.N, tree.Hash, n, hashes[tlog.StoredHashIndex(0, n)]), "proof")
	}

	// What was signed before is the beginning of what is signed now.
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
