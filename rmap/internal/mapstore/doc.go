// Package mapstore is what all maps of package rmap are made of, and what packages nearcache, readthrough and writethrough
// need of the maps that they are built on.
//
// A [Handle] has a name, codecs and a [Store], which is a map as the server has it: [Plain] is one hash, [Sharded] many,
// [Cached] the keys of Redisson's RMapCache. A [Hub] is what all handles of a client share. [Inside] is what a map shows
// to the maps on top of it. Keys and values are bytes in a Store.
package mapstore
