//! What agents say of tokens, cost and limits: with the end of a turn, and in `usage_update`. What comes of the numbers
//! is left to `core::session::meter`.

use agent_client_protocol_schema::v1;
use serde::Deserialize;
use serde_json::Value;

use super::json::{count, text};
use crate::core::message::{Cost, Counts, Limit, LimitStatus, Tokens, TurnUsage, Update};

/// From here on a number is a time in milliseconds rather than in seconds.
const MILLISECONDS: f64 = 1e11;

/// An amount beyond this is a mistake, and would swallow all others in a sum.
const MOST_COST: f64 = 1e9;

/// The tokens in the answer to `session/prompt`. `_meta.quota` counts the turn in all agents that have it, and has the
/// requests of subagents and for titles where `usage` has not: those are paid for, too.
pub fn of_turn(result: &Value) -> Option<TurnUsage> {
    let quota = &result["_meta"]["quota"];
    let told = tokens(&quota["token_count"]);
    let all = quota["model_usage"].as_array().map(|models| {
        let mut all = Tokens::default();
        models.iter().filter_map(|model| tokens(&model["token_count"])).for_each(|more| all.add(more));
        all
    });
    let all = all.filter(|all| told.is_none_or(|told| all.total >= told.total));
    if let Some(tokens) = all.filter(|all| all.total > 0).or(told) {
        return Some(TurnUsage { tokens, counts: Counts::Turn });
    }
    Some(TurnUsage { tokens: tokens(&result["usage"])?, counts: Counts::Session })
}

/// Counts by the names that are in use for them.
pub(super) fn tokens(value: &Value) -> Option<Tokens> {
    let fields = value.as_object()?;
    let any = |names: &[&str]| names.iter().find_map(|name| count(fields.get(*name)?));
    let input = any(&["inputTokens", "input_tokens"]);
    let output = any(&["outputTokens", "output_tokens"]);
    let total = any(&["totalTokens", "total_tokens"]);
    // Without any of them it is no count.
    input.or(output).or(total)?;
    let (input, output) = (input.unwrap_or_default(), output.unwrap_or_default());
    Some(Tokens {
        total: total.unwrap_or(input.saturating_add(output)),
        input,
        output,
        cached_read: any(&["cachedReadTokens", "cachedInputTokens"]).unwrap_or_default(),
        cached_write: any(&["cachedWriteTokens", "cacheWriteInputTokens"]).unwrap_or_default(),
    })
}

/// A `usage_update`: the context and the cost, and a limit where there is one.
pub fn updates(update: &Value) -> Option<Vec<Update>> {
    let usage = Update::Usage {
        used: count(&update["used"])?,
        size: count(&update["size"]).unwrap_or_default(),
        cost: cost(&update["cost"]),
    };
    let limit = limit(&update["_meta"]["_claude/rateLimit"]).map(Update::Limit);
    Some(std::iter::once(usage).chain(limit).collect())
}

fn cost(cost: &Value) -> Option<Cost> {
    let cost = v1::Cost::deserialize(cost).ok()?;
    let is_possible = cost.amount.is_finite() && (0.0..=MOST_COST).contains(&cost.amount);
    is_possible.then_some(Cost { amount: cost.amount, currency: cost.currency })
}

fn limit(limit: &Value) -> Option<Limit> {
    let used = limit["utilization"].as_f64().filter(|used| used.is_finite() && *used >= 0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, which is what is wanted"
    )]
    let resets = limit["resetsAt"]
        .as_f64()
        .filter(|at| at.is_finite() && *at > 0.0)
        .map(|at| if at < MILLISECONDS { (at * 1000.0) as u64 } else { at as u64 });
    Some(Limit {
        window: text(&limit["rateLimitType"]).unwrap_or_default(),
        status: match limit["status"].as_str()? {
            "allowed_warning" => LimitStatus::Near,
            "rejected" => LimitStatus::Reached,
            _ => LimitStatus::Fine,
        },
        // A part, or per cent.
        used: used.map(|used| if used > 1.0 { used / 100.0 } else { used }),
        resets,
        overage: limit["isUsingOverage"].as_bool().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn counted(result: &Value) -> Option<(u64, u64, u64, Counts)> {
        of_turn(result)
            .map(|usage| (usage.tokens.total, usage.tokens.input, usage.tokens.output, usage.counts))
    }

    #[test]
    fn the_tokens_of_a_turn_are_read_from_wherever_agents_put_them() {
        let plain = json!({ "usage": { "totalTokens": 12, "inputTokens": 10, "outputTokens": 2 } });
        assert_eq!(counted(&plain), Some((12, 10, 2, Counts::Session)));
        // Gemini has them in `_meta` alone.
        let gemini =
            json!({ "_meta": { "quota": { "token_count": { "input_tokens": 100, "output_tokens": 20 } } } });
        assert_eq!(counted(&gemini), Some((120, 100, 20, Counts::Turn)));
        // Claude has the requests of subagents in the counts by model only.
        let count = |total: u64| json!({ "totalTokens": total, "inputTokens": total, "outputTokens": 0 });
        let claude = json!({ "usage": count(240), "_meta": { "quota": { "token_count": count(240),
            "model_usage": [{ "model": "a", "token_count": count(300) }, { "model": "b", "token_count": count(60) }] } } });
        assert_eq!(counted(&claude), Some((360, 360, 0, Counts::Turn)));
        let fewer = json!({ "_meta": { "quota": { "token_count": count(240), "model_usage": [] } } });
        assert_eq!(counted(&fewer), Some((240, 240, 0, Counts::Turn)));
        for nothing in
            [json!({}), json!({ "usage": null }), json!({ "usage": {} }), json!({ "usage": "many" })]
        {
            assert_eq!(counted(&nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_limit_is_read_in_either_unit_and_whatever_is_odd_about_it() {
        let read = |limit: Value| {
            let update = json!({ "used": 1, "size": 2, "_meta": { "_claude/rateLimit": limit } });
            match updates(&update).as_deref() {
                Some([Update::Usage { .. }, Update::Limit(limit)]) => Some(limit.clone()),
                _ => None,
            }
        };
        let near = read(json!({ "status": "allowed_warning", "resetsAt": 1_800_000_000, "utilization": 0.82,
            "rateLimitType": "five_hour", "isUsingOverage": false }));
        let expected = Limit {
            window: "five_hour".into(),
            status: LimitStatus::Near,
            used: Some(0.82),
            resets: Some(1_800_000_000_000),
            overage: false,
        };
        assert_eq!(near, Some(expected.clone()));
        let other = json!({ "status": "allowed_warning", "resetsAt": 1_800_000_000_000_u64, "utilization": 82,
            "rateLimitType": "five_hour" });
        assert_eq!(read(other), Some(expected));
        let reached = read(json!({ "status": "rejected", "utilization": "all", "resetsAt": null }));
        assert!(reached.is_some_and(|limit| limit.status == LimitStatus::Reached && limit.used.is_none()));
        assert!(read(json!({ "status": "allowed" })).is_some_and(|limit| limit.status == LimitStatus::Fine));
        for odd in [json!(null), json!("soon"), json!({}), json!({ "status": 5 })] {
            assert_eq!(read(odd.clone()), None, "{odd}");
        }
    }

    #[test]
    fn a_cost_that_cannot_be_is_none() {
        for amount in [json!(-1), json!(1e300), json!(null)] {
            let update = json!({ "used": 1, "size": 2, "cost": { "amount": amount, "currency": "USD" } });
            assert_eq!(updates(&update), Some(vec![Update::Usage { used: 1, size: 2, cost: None }]));
        }
    }
}
