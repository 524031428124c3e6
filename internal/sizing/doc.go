// Package sizing searches the deployment that serves a load best within a budget, or the cheapest that sustains a rate.
//
//	sizing.go     the answer
//	rounds.go     the search for the most, from many deployments to few
//	cheapest.go   the search for a rate that must be sustained: families.go by topology, GPUs and layout,
//	              pairs.go prefill and decode pools by halves, plenty.go the other half, which is never short;
//	              rows.go a row for each, and twice the load
//	spending.go   what deployments take in energy and in money
//	failure.go    why nothing sustains it, and what a search had found that was cancelled
//	enumerate.go  the deployments that the budget allows, settings.go what is varied,
//	              shape.go the replicas they are made of
//	packing.go    the roofline limit of each, which bounds the search
//	capacity.go   the highest rate that one sustains; simulate.go one run of it,
//	              elsewhere.go has another process make it, judge.go whether that meets the SLO, and
//	              growth.go whether the requests under way grow, so that no rate is sustained
//	conclude.go   the last round under every seed; frontier.go what the plots show
//	answer.go     the answer for people and as CSV; lead.go its margin; accuracy.go how right it is; page.go as a page;
//	              table.go its rows,
//	              figure.go goodput by split, and the frontier
//	fleet.go      several models that share a budget; fleet_page.go as a page
//	files.go      what --out leaves
package sizing
