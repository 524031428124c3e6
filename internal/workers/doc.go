// Package workers gives the runs of a job to processes on any number of machines, over NATS JetStream.
//
// A job is divided into runs that have nothing to do with each other, and a run has one result whichever process makes
// it. The coordinator puts the numbers of runs into a work queue; a worker takes one, leases it for as long as it works
// on it, and puts the result where none is yet. A run whose worker ends or stops is given to another one when the lease
// is over, so that nothing is lost, and of two results of one run the first stands, so that nothing is doubled. A run
// that has been given away too often is put aside with what is known of it.
//
//	job.go          what is divided, and the files that workers need for it
//	address.go      where the queue is, and who may connect: tokens, TLS beyond loopback
//	certificate.go  a certificate for a queue that has none, which workers know by its fingerprint
//	server.go       the server that a coordinator embeds; folder.go the folder that its streams are in
//	disk.go         whether there is room for them
//	queue.go        streams and buckets of a job; result.go what is in the bucket of results
//	coordinator.go  runs go into the queue, results come back; asks.go where what is run next depends on them
//	worker.go       the other side: jobs are looked for, opened and worked on; lease.go one run
//	refusal.go      what a server refuses, and when a worker takes it at its word
package workers
